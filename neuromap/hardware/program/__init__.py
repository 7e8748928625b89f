"""Programs: everything that is loaded onto a chip."""

FORMS = {
    "ChipProgram": {
        "file": "program_bytes.program_bytes",
    },
    "Program": {
        "file": "program_bytes.program_bytes",
    },
    "ListProgram": {
        "file": "program_bytes.program_bytes",
    },
}
