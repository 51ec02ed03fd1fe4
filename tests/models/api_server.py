"""A small OpenAI-compatible server around a tiny chat model, with faults on request.

usage: python -m tests.models.api_server [FOLDER]   (prints its port, then serves until it is ended)

It answers /v1/chat/completions with text, usage, ``logprobs`` and vLLM's ``prompt_logprobs``, and decodes
the image of the request for real. It answers /v1/images/generations with a picture that follows from prompt
and seed alone; without a FOLDER its answer in words is always yes. POST /admin/faults
[{"kind", "times", "match", "retry_after"}] makes the next requests fail whose text contains ``match``;
``times`` -1 is for ever. GET /admin/log tells what was asked. POST /admin/replies {"text": message} gives the
messages that answer texts. POST /admin/together N keeps requests whose
text contains SLOW until N have run at once.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import select
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

STATUSES = {
    "400": (400, {"message": "this image is not allowed", "param": None}),
    "401": (401, {"message": "Incorrect API key provided: {key}"}),
    "402": (402, {"message": "no credit is left"}),
    "403": (403, {"message": "the key {key} may not use this"}),
    "429": (429, {"message": "slow down"}),
    "quota": (429, {"message": "quota is used up", "code": "insufficient_quota"}),
    "500": (500, {"message": "out of order, key {key}"}),
    "503": (503, {"message": "loading"}),
    "length field": (400, {"message": "use max_completion_tokens", "param": "max_tokens"}),
    "policy": (400, {"message": "rejected", "code": "content_policy_violation"}),
    "seed": (400, {"message": "Unknown parameter: 'seed'.", "param": "seed"}),
    "format": (400, {"message": "Unknown parameter", "param": "response_format"}),
    "size": (400, {"message": "choose 1024x1024", "param": "size"}),
    "temperature": (400, {"message": "unsupported", "param": "temperature"}),
}


SAID = {
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}]
}


class TinyChat:
    """The model and its processor, one request at a time."""

    def __init__(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        torch.set_num_threads(1)
        self.torch = torch
        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder).eval()
        self.tokenizer = self.processor.tokenizer
        self.lock = threading.Lock()

    def complete(self, body):
        with self.lock, self.torch.no_grad():
            inputs = self.inputs(body)
            prompt = inputs["input_ids"][0]
            length = body.get("max_tokens") or body["max_completion_tokens"]
            out = self.model.generate(
                **inputs,
                max_new_tokens=length,
                do_sample=False,
                output_logits=True,
                return_dict_in_generate=True,
            )
            new = out.sequences[0][len(prompt) :]
            answer = {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "tiny-1.0",
                "system_fingerprint": "fp_tiny",
                "choices": [self.choice(body, new, out.logits)],
                "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(new)},
            }
            if body.get("prompt_logprobs") is not None:
                answer["prompt_logprobs"] = self.prompt_logprobs(inputs)
            return answer

    def inputs(self, body):
        """What the chat means to the model; the image is decoded from its data: URL."""
        chat, images = [], []
        for message in body["messages"]:
            parts = message["content"]
            parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            for part in parts:
                if part["type"] == "image_url":
                    data = base64.b64decode(part["image_url"]["url"].partition("base64,")[2])
                    images.append(Image.open(io.BytesIO(data)).convert("RGB"))
            kinds = [{"type": "image"} if p["type"] == "image_url" else p for p in parts]
            chat.append({"role": message["role"], "content": kinds})
        text = self.processor.apply_chat_template(
            chat,
            add_generation_prompt=body.get("add_generation_prompt", True),
            continue_final_message=body.get("continue_final_message", False),
        )
        inputs = dict(self.processor(images=images or None, text=text, return_tensors="pt"))
        inputs.pop("token_type_ids", None)
        return inputs

    def choice(self, body, new, logits):
        text = self.tokenizer.decode(new, skip_special_tokens=True)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        if body.get("logprobs"):
            rows = []
            for token, scores in zip(new.tolist(), logits, strict=True):
                told = self.torch.log_softmax(scores[0].float(), -1)
                best = told.topk(min(body["top_logprobs"], len(told)))
                top = [
                    self.row(i, v) for i, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)
                ]
                rows.append(self.row(token, told[token].item()) | {"top_logprobs": top})
            choice["logprobs"] = {"content": rows}
        return choice

    def row(self, token, logprob):
        text = self.tokenizer.decode([token])
        return {"token": text, "bytes": list(text.encode()), "logprob": logprob}

    def prompt_logprobs(self, inputs):
        ids = inputs["input_ids"][0]
        told = self.torch.log_softmax(self.model(**inputs).logits[0].float(), -1)
        rows = [None]
        for position, token in enumerate(ids[1:].tolist()):
            text = self.tokenizer.decode([token])
            rows.append(
                {str(token): {"logprob": told[position, token].item(), "rank": 1, "decoded_token": text}}
            )
        return rows


def draw(body, side=None):
    """A picture of coloured squares that follows from prompt and seed."""
    key = f"{body['prompt']} {body.get('seed')}".encode()
    squares = Image.frombytes("RGB", (4, 4), hashlib.sha384(key).digest()[:48])
    side = side or int((body.get("size") or "64x64").split("x")[0])
    written = io.BytesIO()
    squares.resize((side, side), Image.Resampling.NEAREST).save(written, format="PNG")
    return {"b64_json": base64.b64encode(written.getvalue()).decode()}


DRAWN = {
    "garbled base64": lambda body: {"b64_json": "@@@@ no base64"},
    "no image": lambda body: {"b64_json": base64.b64encode(b"<html>busy</html>").decode()},
    "other size": lambda body: draw(body, side=24),
    "address": lambda body: {"url": "https://example.org/image.png"},
}


class Handler(BaseHTTPRequestHandler):
    """One connection; faults and the log are the server's."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/admin/log":
            return self.reply(200, self.server.log)
        if self.path == "/v1/models":
            return self.reply(200, {"object": "list", "data": [{"id": "tiny", "object": "model"}]})
        return self.reply(404, {"error": {"message": "no such page"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/admin/faults":
            with self.server.lock:
                self.server.faults = body
            return self.reply(200, {})
        if self.path == "/admin/clear":
            with self.server.lock:
                self.server.log, self.server.faults, self.server.together = new_log(), [], 1
                self.server.replies = {}
            return self.reply(200, {})
        if self.path == "/admin/replies":
            self.server.replies = body
            return self.reply(200, {})
        if self.path == "/admin/together":
            self.server.together = body
            return self.reply(200, {})
        asked = ("/v1/chat/completions", "/v1/images/generations")
        if self.path not in asked or body["model"] != "tiny":
            return self.reply(404, {"error": {"message": f"no model {body.get('model')!r} here"}})
        with self.server.lock:
            log = self.server.log
            log["keys"].append(self.headers.get("Authorization", ""))
            log["bodies"].append({k: v for k, v in body.items() if k != "messages"})
            log["running"] += 1
            log["most"] = max(log["most"], log["running"])
            self.server.lock.notify_all()
            fault = self.fault(body)
        try:
            self.fail(fault, body, log) if fault else self.reply(200, self.answer(body, log))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client stopped waiting
        finally:
            with self.server.lock:
                log["running"] -= 1

    def answer(self, body, log):
        if "prompt" in body:
            return {"created": 0, "data": [draw(body)], "usage": {"input_tokens": 3, "output_tokens": 5}}
        words = " ".join(str(message["content"]) for message in body["messages"])
        if "SLOW" in words:
            with self.server.lock:
                self.server.lock.wait_for(lambda: log["most"] >= self.server.together, timeout=60)
        if self.server.replies:
            message = self.server.replies[body["messages"][-1]["content"][-1]["text"]]
            ended = message.pop("finish_reason", "stop")
            return {"choices": [{"index": 0, "finish_reason": ended, "message": message}]}
        return self.server.chat.complete(body) if self.server.chat else SAID

    def fault(self, body):
        """The first fault that concerns this request, counted down."""
        words = body["prompt"] if "prompt" in body else json.dumps([m["content"] for m in body["messages"]])
        for fault in self.server.faults:
            if fault["times"] != 0 and fault.get("match", "") in words:
                fault["times"] -= 1
                return fault
        return None

    def fail(self, fault, body, log):
        kind = fault["kind"]
        if kind in DRAWN:
            return self.reply(200, {"created": 0, "data": [DRAWN[kind](body)]})
        if kind == "moved":
            return self.reply(fault["status"], {}, {"Location": fault["to"]})
        if kind in STATUSES:
            status, error = STATUSES[kind]
            key = self.headers.get("Authorization", "").removeprefix("Bearer ")
            error = {name: value.replace("{key}", key) if value else value for name, value in error.items()}
            return self.reply(status, {"error": error}, {"Retry-After": fault.get("retry_after")})
        if kind in ("hang", "drip", "flood"):
            return self.hold(log) if kind == "hang" else self.pour(kind, log)
        if kind == "cut":  # promise a body and end in its middle
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"choices": [{"message": {"content": "half an ans')
            self.wfile.flush()
            self.close_connection = True
            return None
        choice = {
            "index": 0,
            "finish_reason": "content_filter",
            "message": {"role": "assistant", "content": ""},
        }
        empty = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": None}}
        bodies = {
            "garbled": b'{"choices": [{"mess',
            "no choices": b'{"error": {"message": "upstream is gone", "code": 502}}',
            "filtered": json.dumps({"choices": [choice]}).encode(),
            "empty": json.dumps({"choices": [empty]}).encode(),
        }
        return self.send(200, bodies[kind])

    def hold(self, log, drops=b""):
        """Say nothing more than a drop now and then until the client hangs up."""
        self.close_connection = True
        with self.server.lock:
            log["held"] += 1
        try:
            while not select.select([self.connection], [], [], 0.05)[0]:
                self.wfile.write(drops)
        finally:
            with self.server.lock:
                log["held"] -= 1

    def pour(self, kind, log):
        """A body whose end does not come: a byte now and then, or too many of them."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(2**40))
        self.end_headers()
        self.close_connection = True
        if kind == "drip":
            return self.hold(log, drops=b" ")
        for _ in range(200):
            self.wfile.write(b" " * 2**16)

    def reply(self, status, content, headers=None):
        self.send(status, json.dumps(content).encode(), headers)

    def send(self, status, data, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *parts):
        pass


def new_log():
    return {"keys": [], "bodies": [], "running": 0, "most": 0, "held": 0}


class Server(ThreadingHTTPServer):
    """Holds the model, the faults to come and the log."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.chat = TinyChat(folder) if folder else None
        self.faults, self.log, self.lock, self.together = [], new_log(), threading.Condition(), 1
        self.replies = {}


if __name__ == "__main__":
    server = Server("".join(sys.argv[1:]))
    print(server.server_address[1], flush=True)
    server.serve_forever()
