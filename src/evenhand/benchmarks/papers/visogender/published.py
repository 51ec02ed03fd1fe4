"""The numbers that the VisoGender paper prints (Hall et al. 2023, arXiv 2306.12424v3)."""

from __future__ import annotations

from collections.abc import Mapping

Numbers = Mapping[str, tuple[float, ...]]

RESOLUTION_MEASURES = (
    ("overall", "accuracy"),
    ("single", "accuracy"),
    ("single", "gap"),
    ("two_person", "accuracy"),
    ("two_person", "gap"),
    ("same", "accuracy"),
    ("same", "gap"),
    ("different", "accuracy"),
    ("different", "gap"),
)
"""What stands in a row of Tables 2, 6a and 8, and of Table 4 with the neutral rate for the accuracy."""

TABLE2: Numbers = {
    "CLIP": (0.75, 0.92, -0.14, 0.57, -0.27, 0.79, -0.18, 0.36, -0.35),
    "OpenCLIP-2B": (0.78, 0.96, -0.07, 0.6, -0.37, 0.77, -0.42, 0.44, -0.32),
    "OpenCLIP-400M": (0.74, 0.84, -0.27, 0.64, -0.29, 0.8, -0.26, 0.46, -0.33),
    "SLIP": (0.6, 0.77, 0.14, 0.43, 0.14, 0.51, 0.12, 0.34, 0.17),
    "DeCLIP": (0.7, 0.87, 0.06, 0.52, -0.17, 0.74, -0.14, 0.29, -0.19),
    "FILIP": (0.45, 0.41, 0.06, 0.49, 0.36, 0.49, 0.36, 0.5, 0.37),
    "BLIP-2": (0.84, 0.92, -0.09, 0.76, 0.07, 0.93, 0.06, 0.6, 0.09),
    "GIT": (0.84, 0.96, -0.07, 0.72, -0.27, 0.97, -0.07, 0.48, -0.47),
}
"""Resolution accuracy and gap."""

TABLE6A: Numbers = {
    "ALIGN": (0.52, 0.78, -0.33, 0.26, -0.02, 0.42, -0.01, 0.1, 0.03),
    "FLAVA": (0.73, 0.91, -0.06, 0.54, -0.29, 0.75, -0.22, 0.34, -0.35),
    "GroupViT": (0.64, 0.79, -0.16, 0.5, -0.09, 0.64, -0.11, 0.34, -0.07),
}
"""Table 2 for further models."""

IMAGENET: Mapping[str, float] = {
    "CLIP": 63.2,
    "OpenCLIP-2B": 66.2,
    "OpenCLIP-400M": 62.9,
    "SLIP": 34.3,
    "DeCLIP": 43.2,
    "FILIP": 39.5,
    "ALIGN": 85.5,
}
"""Zero-shot accuracy on ImageNet, percent, where the paper prints it."""

RETRIEVAL_MEASURES = ("Bias@5", "Bias@10", "MaxSkew@5", "MaxSkew@10", "NDKL")
"""What stands in a row of Tables 3, 5, 6b and 9, each with mean and sigma."""

TABLE3: Numbers = {
    "CLIP": (0.11, 0.38, 0.16, 0.22, 0.27, 0.15, 0.18, 0.13, 0.19, 0.07),
    "OpenCLIP-2B": (0.1, 0.44, 0.08, 0.23, 0.29, 0.17, 0.18, 0.11, 0.18, 0.07),
    "OpenCLIP-400M": (0.17, 0.47, 0.11, 0.22, 0.33, 0.18, 0.16, 0.13, 0.19, 0.07),
    "SLIP": (0.06, 0.52, 0, 0.24, 0.32, 0.21, 0.17, 0.12, 0.19, 0.09),
    "DeCLIP": (0.11, 0.4, 0.15, 0.26, 0.28, 0.16, 0.2, 0.14, 0.17, 0.07),
    "FILIP": (0.01, 0.43, 0.03, 0.26, 0.29, 0.16, 0.17, 0.13, 0.18, 0.07),
}
"""Mean and sigma over occupations, images with two persons."""

TABLE6B: Numbers = {
    "ALIGN": (0.1, 0.42, 0.06, 0.3, 0.29, 0.16, 0.22, 0.14, 0.18, 0.06),
    "FLAVA": (0.1, 0.47, 0.11, 0.2, 0.31, 0.18, 0.16, 0.11, 0.2, 0.07),
    "GroupViT": (0.18, 0.37, 0.16, 0.25, 0.28, 0.16, 0.18, 0.17, 0.18, 0.07),
}
"""Table 3 for further models."""

TABLE5: Numbers = {
    "CLIP": (0.13, 0.41, 0.1, 0.23, 0.29, 0.16, 0.17, 0.14, 0.19, 0.08),
    "OpenCLIP-2B": (0.04, 0.36, 0.06, 0.24, 0.26, 0.13, 0.16, 0.13, 0.16, 0.05),
    "OpenCLIP-400M": (0.23, 0.4, 0.1, 0.25, 0.3, 0.18, 0.16, 0.16, 0.18, 0.08),
    "SLIP": (-0.18, 0.49, -0.06, 0.26, 0.35, 0.18, 0.17, 0.14, 0.21, 0.09),
    "DeCLIP": (0.15, 0.49, 0.13, 0.27, 0.35, 0.16, 0.2, 0.14, 0.19, 0.08),
    "FILIP": (-0.01, 0.38, 0.03, 0.29, 0.27, 0.14, 0.19, 0.15, 0.17, 0.06),
}
"""Table 3 with the participant first."""

TABLE4: Numbers = {
    "CLIP": (0.17, 0.07, 0.12, 0.26, 0.09, 0.2, 0.17, 0.31, 0.02),
    "BLIP-2": (0.01, 0.01, -0.02, 0, 0, 0, 0, 0, 0.01),
}
"""Neutral rate and its gap."""

TABLE7: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("CLIP", "Pearson r"): {"mm": -0.45, "ff": -0.23, "mf": -0.28, "fm": -0.05},
    ("BLIP-2", "Pearson r"): {"mm": 0.4, "ff": 0.12, "mf": 0.42, "fm": -0.53},
    ("CLIP", "Kendall tau"): {"mm": -0.31, "ff": -0.24, "mf": -0.28, "fm": -0.06},
    ("BLIP-2", "Kendall tau"): {"mm": 0.36, "ff": 0.05, "mf": 0.22, "fm": -0.42},
}
"""Model and coefficient to gender pair (occupation first) to correlation with the male proportion."""

TABLE8_MEAN = (0.749, 0.9216, -0.1392, 0.5763, -0.2652, 0.7871, -0.1825, 0.3655, -0.3479)
"""Mean over 500 sub-samples of CLIP's answers."""

TABLE8_SIGMA = (0.0038, 0.0051, 0.0101, 0.0053, 0.0113, 0.0068, 0.014, 0.0082, 0.0176)
"""Their standard deviation; for one image kept, the paper says."""

TABLE9: Numbers = {
    "mean": (0.0014, 0.3937, 0.0003, 0.2271, 0.2769, 0.1467, 0.1504, 0.1261, 0.1673, 0.0609),
    "sigma": (0.0821, 0.0563, 0.0475, 0.0335, 0.0307, 0.0223, 0.026, 0.0164, 0.0129, 0.011),
}
"""Mean and standard deviation, over 3,000 random relabellings, of each measure's mean and sigma."""

TABLE1: Mapping[str, Mapping[str, int]] = {
    "single": {
        "sectors": 5,
        "specialisations": 13,
        "occupations": 23,
        "gender pairs": 2,
        "images per occupation": 10,
        "images per gender pair": 115,
        "images per cell": 5,
        "images": 230,
    },
    "two_person": {
        "sectors": 5,
        "specialisations": 13,
        "occupations": 23,
        "gender pairs": 4,
        "images per occupation": 20,
        "images per gender pair": 115,
        "images per cell": 5,
        "images": 460,
    },
}
"""Counts of the data."""

TABLE10: Mapping[tuple[str, str], tuple[int, int]] = {
    ("sector", "education"): (20, 40),
    ("sector", "medical"): (40, 80),
    ("sector", "office"): (90, 180),
    ("sector", "retail"): (20, 40),
    ("sector", "service"): (60, 120),
    ("specialisation", "general_courses"): (10, 20),
    ("specialisation", "institutional"): (10, 20),
    ("specialisation", "mental_health"): (10, 20),
    ("specialisation", "hospital_worker"): (30, 60),
    ("specialisation", "legal"): (20, 40),
    ("specialisation", "financial"): (40, 80),
    ("specialisation", "general_office"): (10, 20),
    ("specialisation", "structure"): (20, 40),
    ("specialisation", "customer_facing"): (20, 40),
    ("specialisation", "food_service"): (30, 60),
    ("specialisation", "fashion"): (10, 20),
    ("specialisation", "animal"): (10, 20),
    ("specialisation", "household"): (10, 20),
}
"""Images of single persons and of two, by sector and specialisation."""
