"""Documents: what is read from each kind of file, in each encoding, and what is said of broken ones."""

import asyncio
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from made_files import docx, part

from haluagent.search.documents.document import Document, LeftOut
from haluagent.search.documents.encoding import Unreadable, decode
from haluagent.search.documents.html import read_html
from haluagent.search.documents.reading import read

SIMPLIFIED = "北京是中华人民共和国的首都，也是全国的政治和文化中心。2008年，北京举办了夏季奥林匹克运动会。"
TRADITIONAL = "臺北是臺灣的政治、經濟與文化中心，學習語言對於學生來說是很重要的問題。"
ENGLISH = "The café’s owner – a naïve man – said: “The tower was built in 1889, and it is 330 metres tall.”"


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    def make(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make


Make = Callable[[str, bytes | str], Path]


def only(path: Path, field: str | None = None) -> Document:
    [document] = read(path, field)
    assert isinstance(document, Document)
    return document


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *(
            (text, encoding)
            for text in (SIMPLIFIED, TRADITIONAL, ENGLISH)
            for encoding in ("utf-8", "utf-8-sig", "utf-16")
        ),
        *((text, encoding) for text in (SIMPLIFIED, TRADITIONAL, ENGLISH) for encoding in ("utf-16-le", "utf-16-be")),
        *((text, "gb18030") for text in (SIMPLIFIED, TRADITIONAL)),
        (TRADITIONAL, "big5"),
        (ENGLISH, "cp1252"),
        ("plain", "ascii"),
    ],
)
def test_the_encoding_is_found(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_a_few_broken_bytes_do_not_hide_a_text() -> None:
    data = (SIMPLIFIED * 3).encode()
    assert decode(data[:-1]) == (SIMPLIFIED * 3)[:-1] + "\ufffd"


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 4, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xfe\0", b"\xef\xbb\xbf\xff\xff\xff"]
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="no text in UTF-8"):
        decode(data)


def test_text_keeps_its_characters_but_line_ends_and_controls(make: Make) -> None:
    assert only(make("a note.txt", "one\r\ntwo\rthree\x1b[31m\tfour")) == (
        "a note", "one\ntwo\nthree [31m\tfour", None, None,
    )  # fmt: skip


def test_markdown_has_its_first_heading_as_title(make: Make) -> None:
    document = only(make("a.md", "intro\n\n## The *Tower* ##\n\ntext\n# Later\n"))
    assert document.title == "The *Tower*" and document.text.startswith("intro\n\n## The")
    assert only(make("b.md", "no heading")).title == "b"


PAGE = """<?xml version="1.0"?><!DOCTYPE html><html><head><meta charset="gb2312"><title> 一 页
 </title><script>var hidden;</script></head><body><nav>menu</nav><h1>Head</h1><p>第一<b>段</b>。</p><!-- comment -->
<p>Second <i>para</i>-
graph.<br>New line</p><div hidden>no</div><div style="display: none">no</div><table><tr><td>a</td><td>b</td></tr></table>
<ul><li>one<li>two</ul><pre>x = 1
y = 2</pre><footer>foot</footer>&#27;&lt;end&gt;</body></html>"""


@pytest.mark.parametrize(
    ("encoding", "charset"), [("gb18030", None), ("utf-8", "utf-8"), ("utf-8", None), ("utf-16", "gbk")]
)
def test_a_page_is_what_a_reader_sees(encoding: str, charset: str | None) -> None:
    """Also where it names the wrong encoding, as it does in the last two."""
    title, text = read_html(PAGE.encode(encoding), charset)
    assert title == "一 页"
    blocks = ["Head", "第一段。", "Second para- graph.\nNew line", "a b", "one\ntwo", "x = 1\ny = 2"]
    assert text == "\n\n".join(blocks) + "\n<end>"


def test_a_page_without_tags_is_its_text(make: Make) -> None:
    assert only(make("p.html", "no tag at all")) == ("p", "no tag at all", None, None)


@pytest.mark.parametrize(
    "piece", ["<p>", "<a ", "<!--", "<div>", "<", "</a ", "<!", "<?x ", "<p>hello <b>you</b></p>\n", "&#"]
)
def test_a_hostile_page_takes_no_time(piece: str) -> None:
    """Each of these made a parser slow in proportion to the square of its length."""
    title, text = read_html((piece * 10_000).encode() + b"<p>end")
    assert "end" in text


def pdf(pages: list[list[str]], title: str = "") -> bytes:
    """A PDF file whose one font maps each character used to its number."""
    letters = sorted({letter for page in pages for line in page for letter in line})
    code = {letter: number for number, letter in enumerate(letters, start=1)}
    mapping = " ".join(f"<{code[letter]:02X}> <{letter.encode('utf-16-be').hex()}>" for letter in letters)
    cmap = f"begincmap 1 begincodespacerange <00> <FF> endcodespacerange {len(code)} beginbfchar {mapping} endbfchar endcmap"
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        f"<< /Length {len(cmap)} >> stream\n{cmap}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 3 0 R >>",
        f"<< /Title ({title}) >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"<{''.join(f'{code[letter]:02X}' for letter in line)}> Tj T*" for line in lines)
        content = f"BT /F1 12 Tf 14 TL 50 750 Td {shown} ET"
        font = "/Resources << /Font << /F1 4 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {font} /Contents {7 + 2 * number} 0 R >>")
        objects.append(f"<< /Length {len(content)} >> stream\n{content}\nendstream")
    data, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{value}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>"
    return data + f"{end}\nstartxref\n{len(data)}\n%%EOF".encode()


def test_pdf_lines_become_paragraphs(make: Make) -> None:
    english = [
        "Chapter One",
        "The tower was built in the year 1889 and was the tall-",
        "est of the world for a long time, until others came,",
        "but no longer.",
    ]
    chinese = ["北京是中华人民共和国的首都，也是政", "治中心。", "上海是最大的城市，位于长江的入海口"]
    document = only(make("a.pdf", pdf([english, chinese], "A Title")))
    assert document.title == "A Title"
    assert document.text == (
        "Chapter One\nThe tower was built in the year 1889 and was the tallest of the world for a long time, until others "
        "came, but no longer.\n北京是中华人民共和国的首都，也是政治中心。\n上海是最大的城市，位于长江的入海口"
    )


def test_a_page_that_breaks_is_left_out(make: Make) -> None:
    data = pdf([["First page."], ["Second page."]]).replace(b"9 0 obj\n<<", b"9 0 obj\n<< /Filter /Unknown")
    left_out, document = read(make("a.pdf", data))
    assert isinstance(left_out, LeftOut) and left_out.part == "page 2"
    assert isinstance(document, Document) and document.text == "First page."


def test_a_protected_file_is_refused(make: Make) -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(pdf([["Text."]]))))
    for password, problem in (("secret", "protected with a password"), ("", None)):
        writer.encrypt(password, "owner", algorithm="RC4-128")
        data = io.BytesIO()
        writer.write(data)
        path = make("a.pdf", data.getvalue())
        if problem is None:
            assert only(path).text == "Text."
        else:
            with pytest.raises(Unreadable, match=problem):
                list(read(path))


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", "", "empty"),
        ("a.md", " \n\t", "empty"),
        ("a.html", "<script>x</script>", "empty"),
        ("a.txt", b"\0\1\2\3", "no text in UTF-8"),
        ("a.pdf", "%PDF-1.4 broken", "no PDF that can be read"),
        ("a.pdf", b"\0" * 1000, "no PDF that can be read"),
        ("a.pdf", pdf([[]]), "scanned pages"),
        ("a.jsonl", "\n", "empty"),
        ("a.jsonl", "[1]\n{}\n", "none of its rows is a document; line 2: it has none of the fields"),
    ],
)
def test_a_broken_file_is_one_line(
    make: Make, capsys: pytest.CaptureFixture[str], name: str, content: bytes | str, problem: str
) -> None:
    with pytest.raises(Unreadable, match=problem) as caught:
        list(read(make(name, content)))
    assert "\n" not in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_a_file_that_is_too_large_is_refused(make: Make) -> None:
    path = make("a.html", "")
    with path.open("r+b") as file:
        file.truncate(9_000_000)
    with pytest.raises(Unreadable, match="it has 9 MB, and at most 8 are read"):
        list(read(path))


ROWS: list[object] = [
    "a string",
    {"text": "a text", "title": "T\u2028itle", "url": "https://example.org/1"},
    {"id": 7, "content": ["one", "two"]},
    {"id": "seven", "output": "o", "title": None, "url": ""},
    {"text": "", "body": "the body"},
    {"passage": "half \ud800"},
]


def test_every_row_is_a_document(make: Make) -> None:
    lines = [json.dumps(row, ensure_ascii=index != 1) for index, row in enumerate(ROWS)]
    documents = list(read(make("r.jsonl", "\ufeff" + "\r\n".join([*lines[:2], "", *lines[2:]]))))
    assert documents == [
        Document("r.jsonl, line 1", "a string", None, 1),
        Document("T itle", "a text", "https://example.org/1", 2),
        Document("7", "one\n\ntwo", None, 4),
        Document("seven", "o", None, 5),
        Document("r.jsonl, line 6", "the body", None, 6),
        Document("r.jsonl, line 7", "half \ufffd", None, 7),
    ]


def test_a_row_in_another_encoding_is_read_too(make: Make) -> None:
    path = make("r.jsonl", json.dumps({"text": SIMPLIFIED}, ensure_ascii=False).encode("gb18030"))
    assert only(path).text == SIMPLIFIED


def test_a_field_can_be_named(make: Make) -> None:
    path = make("r.jsonl", '{"text": "no", "answer": "yes"}\n{"text": "no"}\n')
    assert list(read(path, "answer")) == [
        Document("r.jsonl, line 1", "yes", None, 1),
        LeftOut("line 2", "it has no field 'answer'; name the one with the text by --field (it has: text)"),
    ]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("not json", "it is no JSON: Expecting value"),
        ("[" * 100_000, "it is no JSON"),
        ("9" * 10_000, "it is no JSON"),
        ("[1, 2]", "neither an object nor a string"),
        ("7", "neither an object nor a string"),
        (
            '{"query": "q", "answer": "a"}',
            "none of the fields text, content, output, passage, body, document; .*query, answer",
        ),
        ("{}", "it has: nothing"),
        ('{"text": "  "}', "no text in its field text"),
        ('{"text": {"a": 1}}', "no text in its field text"),
        ('{"text": [1]}', "no text in its field text"),
        ('"' + "x" * 16_000_001 + '"', "more than 16 MB"),
        (b"\xff\xff\xff\xff", "no text in UTF-8"),
    ],
)
def test_a_broken_row_is_named_and_the_rest_goes_on(make: Make, row: str | bytes, problem: str) -> None:
    data = row.encode() if isinstance(row, str) else row
    first, second = read(make("r.jsonl", data + b"\n" + b'"good"'))
    assert isinstance(first, LeftOut) and first.part == "line 1"
    assert re.search(problem, first.problem) and "\n" not in first.problem
    assert second == Document("r.jsonl, line 2", "good", None, 2)


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r></w:p>"


@pytest.mark.parametrize("strict", [False, True])
def test_a_word_file_is_read_as_it_is_seen(make: Make, strict: bool) -> None:
    row = "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in ("Price", "12"))
    body = (
        paragraph("退货期为30天。")
        + "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t></w:r></w:p>"
        + f"<w:tbl><w:tr>{row}</w:tr></w:tbl>"
        + paragraph("never seen", "<w:vanish/>")
        + paragraph("seen", '<w:vanish w:val="0"/>')
        + "<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr><w:r><w:t>also seen</w:t></w:r></w:p>"
        + "<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins><w:r><w:t>added</w:t></w:r></w:ins></w:p>"
        + "<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
        + "<w:p><w:r><w:ruby><w:rt><w:r><w:t>hàn</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>汉</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
    )
    core = '<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Hand&amp;book</dc:title><dc:creator>Me</dc:creator></cp:coreProperties>'
    notes = part(paragraph("A note."), "footnotes")
    data = docx(body, strict, "word/document2.xml", word__footnotes=notes, docProps__core=core)
    found = only(make("a.docx", data))
    assert found.title == "Hand&book"
    assert found.text.replace(" ", "_").split("\n") == [
        "退货期为30天。", "One\ttwo", "three", "Price_12_", "", "seen", "also_seen", "added", "", "汉", "A_note.",
    ]  # fmt: skip


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>'
FILE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (docx("", word__document=BOMB), "declares a document type"),
        (docx("", word__document=FILE), "declares a document type"),
        (docx("", word__document=b" " * 65_000_000 + b"<a/>"), "unpacks to more than 64 MB"),
        (docx("", word__document="<a>"), "its part word/document.xml is no XML"),
        (docx("<w:p/>"), "it is empty"),
        (docx("", _rels__x="<a/>")[:-60], "no Word file that can be read"),
        (b"\xd0\xcf\x11\xe0 an older form, or with a password", "no Word file that can be read, or has a password"),
        (b"", "no Word file"),
    ],
)
def test_a_word_file_that_attacks_or_is_broken_is_left(make: Make, data: bytes, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        list(read(make("a.docx", data)))


def test_word_files_are_indexed(make: Make, tmp_path: Path) -> None:
    from haluagent.search.index.local import LocalIndex

    make("a.docx", docx(paragraph("The tower of Osk is 34 metres high.")))
    index = LocalIndex(tmp_path / "i.db")
    assert index.add([tmp_path]).added == 1
    [result] = asyncio.run(index.search("How high is the tower of Osk?"))
    assert result.text == "The tower of Osk is 34 metres high."
