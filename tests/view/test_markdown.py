"""Texts are rendered as Markdown, and nothing in one becomes HTML, loads an image or leads to a script."""

import re

import pytest

from chatsquash.pages.html.markup import outside_link
from chatsquash.view.pages.markdown import rendered
from chatsquash.view.pages.texts import PageTexts
from tests.view import markup


def inside(said):
    html = rendered(said)
    markup.hold_part(html)
    return html.removeprefix('<div class="markdown" dir="auto">').removesuffix("</div>").replace("\n", "")


LINK = '<a href="{0}" title="{0}" rel="noopener noreferrer nofollow">{1}</a>'
RENDERED = {
    "a heading": ("# a", '<p class="heading h1">a</p>'),
    "emphasis": ("**a** _b_ ~~c~~", "<p><strong>a</strong> <em>b</em> <s>c</s></p>"),
    "code": ("`a<b`", "<p><code>a&lt;b</code></p>"),
    "a list": ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
    "numbers that begin elsewhere": ("3. a", '<ol start="3"><li>a</li></ol>'),
    "a table": ("|a|\n|-|\n|b|", "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>"),
    "a quotation": ("> a", "<blockquote><p>a</p></blockquote>"),
    "lines as they are broken": ("a\nb", "<p>a<br>b</p>"),
    "a block of code, with its name": (
        "```text\na\n```",
        '<span class="language">text</span><pre class="code"><code>a</code></pre>',
    ),
    "a link": ("[a](https://b.c/?d&e)", f"<p>{LINK.format('https://b.c/?d&amp;e', 'a')}</p>"),
    "a mail address": ("<mailto:a@b.c>", f"<p>{LINK.format('mailto:a@b.c', 'mailto:a@b.c')}</p>"),
    "a link within the project, as its target": ("[a](src/b.py)", "<p>a (src/b.py)</p>"),
    "an image, as a text": (
        "![a](https://b.c/d.png)",
        '<p><span class="medium">image: a (https://b.c/d.png)</span></p>',
    ),
    "HTML, as a text": ("<b onclick=x>a</b>", "<p>&lt;b onclick=x&gt;a&lt;/b&gt;</p>"),
    "a definition, which would hide its text": ("[a]: https://b.c", "<p>[a]: https://b.c</p>"),
    "what hides text, as an escape": ("a\u202eb", "<p>a\\u202eb</p>"),
}


@pytest.mark.parametrize(("said", "expected"), RENDERED.values(), ids=RENDERED)
def test_markdown_is_rendered(said, expected):
    assert inside(said) == expected


HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "a script as a target": "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](&#106;avascript:alert(1))",
    "data as a target": "[a](data:text/html;base64,PHNjcmlwdD4=) <data:text/html,x>",
    "a file or this server as a target": "[a](file:///etc/passwd) [b](//evil.test/x) [c](/r/0/s/0) [d](\\\\evil\\x)",
    "quotes in a target": '[a](https://b.c/"onclick="x) [b](<https://b.c/ onclick=x>) [c](https://b.c "x\\" onload=1")',
    "an image that loads": "![a](https://evil.test/x.png) <img src=x onerror=alert(1)>",
    "a style": "<style>*{display:none}</style><a style=position:fixed>",
    "a comment": "<!-- a --> <![CDATA[ a ]]> <?php x ?>",
    "entities": "&lt;script&gt; &#60;script&#62;",
    "markup in a fence": "```html onload=alert(1)\n</code></pre><script>\n```",
    "a fence without end": "```\n</pre><script>",
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_nothing_hostile_in_markdown_becomes_more_than_text(said):
    html = inside(said)
    assert not re.search(r'(?i)href="(?!https?://|mailto:)', html)
    assert "<img" not in html


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "/s", "https://a b", "//a", "ftp://a", ""])
def test_a_link_leads_to_web_and_mail_addresses_only(url):
    with pytest.raises(ValueError, match="is not a web or e-mail URL"):
        outside_link(url, "a")


KEPT = {
    "of very many levels, of which the parser drops some": "> " * 500 + "a",
    "in lists of very many levels": "\n".join("  " * level + "- a" for level in range(100)),
    "with NUL, which the parser replaces": "**a**\0",
    "with a diff, whose lines look like lists": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b",
}


@pytest.mark.parametrize("said", KEPT.values(), ids=KEPT)
def test_a_text_that_rendering_would_change_is_shown_as_it_is(said):
    assert rendered(said) is None
    assert PageTexts().body("said", said).startswith("<pre")


def test_only_so_much_of_a_page_is_rendered():
    texts = PageTexts()
    bodies = [texts.body("said", "*a* " * 4_000) for _ in range(5)]
    assert ["<em>" in body for body in bodies] == [True, True, True, False, False]


def test_texts_are_shown_as_written_on_request():
    assert PageTexts(renders=False).body("said", "**a**") == '<pre class="said" dir="auto">\n**a**</pre>'


def test_many_small_tables_whose_rows_would_be_filled_are_not_rendered():
    table = "|" + "a|" * 150 + "\n|" + "-|" * 150 + "\n" + "|b\n" * 150 + "\n"
    assert rendered(table * 10) is None
    assert rendered("|a|b|\n|-|-|\n" + "|c|d|\n" * 200) is not None
