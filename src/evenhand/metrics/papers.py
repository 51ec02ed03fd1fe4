"""Papers that several metrics are from."""

SKEWSIZE = "Albuquerque et al., Evaluating Model Bias Requires Characterizing its Mistakes, ICML 2024"
VISOGENDER = (
    "Hall et al., VisoGender: A dataset for benchmarking gender bias in image-text pronoun resolution, 2023"
)
GEYIK = "Geyik et al., Fairness-Aware Ranking in Search and Recommendation Systems, KDD 2019"
MMBIAS = (
    "Janghorbani and de Melo, Multi-Modal Bias: Introducing a Framework for Stereotypical Bias "
    "Assessment beyond Gender and Race in Vision-Language Models, EACL 2023"
)
CALISKAN = (
    "Caliskan et al., Semantics derived automatically from language corpora contain human-like biases, 2017"
)
INDICATORS = (
    "Goyal et al., Fairness Indicators for Systematic Assessments of Visual Feature Extractors, FAccT 2022"
)
DE_VRIES = "De Vries et al., Does object recognition work for everyone?, CVPR workshops 2019"
BERGSMA = "Bergsma, A bias-correction for Cramér's V and Tschuprow's T, 2013"
SAGAWA = "Sagawa et al., Distributionally Robust Neural Networks for Group Shifts, 2020"
BONETT_PRICE = "Bonett and Price, Adjusted Wald confidence interval for paired proportions, 2012"
