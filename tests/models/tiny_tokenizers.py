"""Tokenizers of the kinds the families use, made in memory from a few words."""
# ruff: noqa: S106 - tokens of tokenizers, no passwords

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

WORDS = """
    a an the photo picture of doctor nurse engineer teacher mechanic and his her their he she they patient
    dog cat car street house man woman person who is are pleasant unpleasant happy sad good bad yes no
    question answer this image shows describe what color red green blue user assistant religion . , : ?
""".split()  # noqa: SIM905
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def byte_pairs(specials: list[str], *, first: str = "", last: str = "", size: int = 500, **named: Any) -> Any:
    """Byte-level pairs, as of GPT-2, OPT and Llama.

    Args:
        specials: Special tokens, which get the first ids.
        first: Special token set before each text, as Llama and OPT do.
        last: Special token set after each text, as T5 does.
        size: Size of the vocabulary.
        named: Names of special tokens, such as ``pad_token``.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([" ".join(WORDS)] * 4, trainer)
    if first or last:
        around = f"{first} $A {last}".strip()
        known = [(token, made.token_to_id(token)) for token in (first, last) if token]
        made.post_processor = processors.TemplateProcessing(single=around, special_tokens=known)
    return PreTrainedTokenizerFast(tokenizer_object=made, **named)


def clip_words(length: int = 16) -> Any:
    """Pairs with an end-of-word mark, whole words merged; the end token has the largest id, as in CLIP."""
    from tokenizers import pre_tokenizers
    from transformers import CLIPTokenizer

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = alphabet + [letter + "</w>" for letter in alphabet]
    words = [[*word[:-1], word[-1] + "</w>"] for word in sorted(set(WORDS))]
    merges = _merge(words, tokens)
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab=_numbered(tokens), merges=merges, model_max_length=length)


def siglip2_pairs(length: int = 64) -> Any:
    """Gemma's tokenizer, lower-cased, as SigLIP 2 has it."""
    from transformers import Siglip2Tokenizer

    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *sorted({*"".join(WORDS)})]
    merges = _merge([list(word) for word in sorted(set(WORDS))], tokens)
    return Siglip2Tokenizer(vocab=_numbered(tokens), merges=merges, model_max_length=length)


def _merge(words: list[list[str]], tokens: list[str]) -> list[tuple[str, str]]:
    """Merges that make each word of its letters, left to right; what they make is added to ``tokens``."""
    merges = []
    for left, *rest in words:
        made = left
        for right in rest:
            if made + right not in tokens:
                merges.append((made, right))
                tokens.append(made + right)
            made += right
    return merges


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def bert_words(length: int = 32, extra: tuple[str, ...] = ()) -> Any:
    """Whole words, then letters."""
    from transformers import BertTokenizer

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *extra, *sorted(set(WORDS)), *LETTERS]
    tokens += ["##" + letter for letter in LETTERS]
    return BertTokenizer(vocab=_numbered(list(dict.fromkeys(tokens))), model_max_length=length)


def roberta_pairs(length: int = 32) -> Any:
    """XLM-R's special ids (``<s>`` 0, ``<pad>`` 1, ``</s>`` 2), as AltCLIP has them."""
    return byte_pairs(
        ["<s>", "<pad>", "</s>", "<unk>"],
        first="<s>",
        last="</s>",
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=length,
    )


def siglip_pieces(folder: Path, length: int = 16) -> Any:
    """Sentence pieces trained in memory, lower-cased and without punctuation, as of SigLIP."""
    import sentencepiece
    from transformers import SiglipTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(WORDS)] * 20),
        model_writer=written,
        vocab_size=100,
        model_type="unigram",
        hard_vocab_limit=False,
        pad_id=-1,
        bos_id=-1,
        unk_id=2,
        eos_id=1,
        minloglevel=2,
    )
    file = folder / "spiece.model"
    file.write_bytes(written.getvalue())
    return SiglipTokenizer(str(file), model_max_length=length)
