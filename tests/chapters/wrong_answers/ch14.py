# SPDX-License-Identifier: MIT
"""Answers to the exercises of chapter 14."""

from wrong_answers import Planted, but

MEMORY = {"full": 1.76, "lora": 0.4448, "activations": 2.415919104}
CARBON = {"energy": 115.2, "carbon": 55.4112, "older": 10.08}
FOUR = {"int8": 0.006778, "four bits": 18.142, "one scale": 2.0288}
PROBE = {"gap": 0.020053, "share": 0.85111, "verdict": "none"}

PLANTED = {
    "ex-eff-memory": Planted(
        MEMORY,
        (
            (but(MEMORY, full=0.44), "weights alone"),
            (but(MEMORY, full=0.88), "two means"),
            (but(MEMORY, full=1.32), "is missing"),
            (but(MEMORY, full=1.76e9), "those are bytes"),
            (but(MEMORY, full=5), "four bytes each"),
            (but(MEMORY, lora=0.0048), "must still be held"),
            (but(MEMORY, lora=1.7648), "neither gradient nor means"),
            (but(MEMORY, activations=0.018874), "count them all"),
            (but(MEMORY, activations=0.075497), "one text of the batch"),
            (but(MEMORY, activations=0.60398), "four bytes"),
            (but(MEMORY, activations=0.201327), "one block"),
        ),
        (but(MEMORY, activations=2.42),),
    ),
    "ex-eff-carbon": Planted(
        CARBON,
        (
            (but(CARBON, energy=96), "see PUE"),
            (but(CARBON, energy=4.8), "24 hours"),
            (but(CARBON, energy=115_200), "kilowatt-hours"),
            (but(CARBON, energy=80), "does not divide"),
            (but(CARBON, energy=1), "divided by a million"),
            (but(CARBON, carbon=55_411), "watch the units"),
            (but(CARBON, carbon=6.4512), "the other grid"),
            (but(CARBON, older=6.4512), "more days"),
            (but(CARBON, older=86.58), "world's grid"),
            (but(CARBON, older=8.4), "same PUE"),
        ),
        (but(CARBON, carbon=55.4),),
    ),
    "ex-eff-four": Planted(
        FOUR,
        (
            (but(FOUR, int8=4.594e-05), "take the root"),
            (but(FOUR, int8=0.6778), "per cent"),
            (but(FOUR, int8=0.013752), "its own scale"),
            (but(FOUR, int8=0.5), "mean squared weight"),
            (but(FOUR, four_bits=2), "half the bits"),
            (but(FOUR, four_bits=329), "compares squares"),
            (but(FOUR, four_bits=0.0551), "turned around"),
            (but(FOUR, four_bits=8.5), "largest weight becomes 7"),
            (but(FOUR, four_bits=0.12298), "error of int8"),
            (but(FOUR, one_scale=1.0), "one scale for all"),
            (but(FOUR, one_scale=0.4929), "(c) over (a)"),
            (but(FOUR, one_scale=0.013752), "error of (a)"),
        ),
        (but(FOUR, four_bits=18.1),),
    ),
    "ex-eff-probe": Planted(
        PROBE,
        (
            (but(PROBE, gap=-0.020053), "minus last twelve"),
            (but(PROBE, gap=0.2064), "care against command"),
            (but(PROBE, gap=0.02893), "in bits"),
            (but(PROBE, gap=1), "cut after twelve"),
            (but(PROBE, share=0.149), "at least as large"),
            (but(PROBE, share=0.4256), "both directions"),
            (but(PROBE, share=85.1), "between 0 and 1"),
            (but(PROBE, share=0.0362), "care against command"),
            (but(PROBE, verdict="lean"), "do as well"),
        ),
    ),
}
