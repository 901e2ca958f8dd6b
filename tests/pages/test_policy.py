"""A page runs what the policy has the hash of, and loads nothing."""

import base64
import hashlib

from chatsquash.pages.html import markup


def test_the_policy_names_what_stands_in_the_page_by_its_hash():
    told = markup.of_page(["let a = 1;\n"], ["p { color: red; }"])
    digest = base64.b64encode(hashlib.sha256(b"let a = 1;\n").digest()).decode()
    assert f"script-src 'sha256-{digest}'" in told
    assert told.startswith("default-src 'none'; ")
    assert "img-src data:" in told
    assert "unsafe" not in told
    assert markup.script("let a = 1;\n") == '<script type="module">let a = 1;\n</script>'


def test_the_style_sheet_loads_nothing():
    sheet = markup.source("chatsquash.pages.html", "base.css")
    assert "url(" not in sheet
    assert "@import" not in sheet


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(char * 2 for char in colour[1:])
    channels = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted(map(luminance, (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


TEXTS = ("ink", "quiet", "link", "error", "warning", "info", "user", "assistant", "tool", "system")
SHAPES = ("field", "blue", "green", "amber", "red", "violet", "grey")


def test_texts_and_shapes_have_the_contrast_that_wcag_asks_for():
    sheet = markup.source("chatsquash.pages.html", "base.css")
    blocks = sheet.split(":root {")[1:]
    assert len(blocks) == 3  # light, dark, printed
    for block in blocks:
        colours = dict(
            each.split(": ") for each in block[: block.index("}")].split(";") if each.strip().startswith("--")
        )
        colours = {name.strip()[2:]: value for name, value in colours.items()}
        for ground in ("page", "card"):
            for name in TEXTS:
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        for name in SHAPES:
            if name in colours:
                assert contrast(colours[name], colours["page"]) >= 3, name
        if "mark" in colours:
            assert contrast(colours["ink"], colours["mark"]) >= 4.5
