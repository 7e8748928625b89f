"""Chips: cores, widths, delays, figures and defects, and their files."""

FORMS = {
    "ChipSpec": {
        "head": "chip_spec.chip_head",
    },
}
