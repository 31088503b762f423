"""Finds the functions of C++ sources and their lengths, for tools/check-habits.

The finder reads braces, not types: it follows namespaces and classes, and takes a brace after a parameter list for a
function's body. Lambdas count as lines of the function that contains them.
"""
import re

TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"
  | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)+'
  | ^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
""", re.X | re.S | re.M)
SCOPE = re.compile(r"(^|\s)(namespace|class|struct|union|extern\s*\"\")\b")
NAME = re.compile(r"((?:~|\boperator\s*)?[\w:~<>]*|operator\s*\S+)\s*\($")


def blank(match):
    """Returns the token's text without content, as long as before. Quotes stay."""
    text = match[0]
    if text[0] in "\"'R" and not text.startswith("//"):
        return '"' + re.sub(r"[^\n]", " ", text[1:-1]) + '"'
    return re.sub(r"[^\n]", " ", text)


def plain(text):
    """Returns the source without comments, preprocessor lines, and the content of literals, with equal offsets."""
    # 1'000 is a number, not the begin of a character literal.
    return TOKEN.sub(blank, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "0", text))


def matching(text, start):
    """Returns the offset of the bracket that closes the one at `start`."""
    depth, pairs = 0, {"{": "}", "(": ")", "[": "]"}
    opened, closed = text[start], pairs[text[start]]
    for at in re.finditer(f"[{re.escape(opened + closed)}]", text[start:]):
        depth += 1 if at[0] == opened else -1
        if depth == 0:
            return start + at.start()
    return len(text)


def data_lines(text, start, end):
    """Returns the lines that braced initializers of four or more lines without a semicolon take: rows of a table."""
    lines, at = 0, start
    while (at := text.find("{", at, end)) != -1:
        close = matching(text, at)
        block = text[at:close]
        before = text[start:at].rstrip()[-1:]
        if ";" not in block and (before in "=,({" or text[start:at].rstrip().endswith("return") or before.isalnum() or before in "])>"):
            rows = block.count("\n")
            if rows >= 4:
                lines += rows
                at = close
                continue
        at += 1
    return lines


def body_start(text, head_start, at):
    """Returns whether the brace at `at` begins a function's body, given that its declaration begins at `head_start`."""
    head = text[head_start:at]
    if "(" not in head or re.search(r"(^|[^=!<>+\-*/|&^~])=(?!=)", re.sub(r"operator\s*\S+", "", strip_parens(head))):
        return False
    before = head.rstrip()
    constructor = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", head)
    if constructor and re.search(r"[\w>]$", before) and not before.endswith("noexcept"):
        return False  # a member's initializer
    return True


def strip_parens(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"\([^()]*\)|\{[^{}]*\}|<[^<>()]*>", "", text)
    return text


def name_of(head):
    """Returns the function's name in a declaration: what is before its first parameter list."""
    head = re.sub(r"\b(requires|SUBLET_\w+|alignas|noexcept|decltype)\s*\([^()]*\)", "", head)
    head = re.sub(r"template\s*<[^()]*?>\s*(?=[\w:])", "", head, count=1)
    found = re.search(r"([\w:~]*(?:operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+))|[\w:~<>]+)\s*\(", head)
    if not found:
        return "?"
    name = re.sub(r"\s+", "", found[1])
    if re.fullmatch(r"[A-Z_0-9]{4,}", name):  # TEST(Suite, Name)
        arguments = head[found.end():].split(")")[0]
        return name + "(" + " ".join(arguments.split()) + ")"
    return name


def functions(source):
    """Returns [(name, first line, lines, lines without rows of tables)] of one source's text."""
    text = plain(source)
    found, scopes, head = [], [], 0
    at = 0
    for_each = re.compile(r"[{};]|(?<![:\w])(?:public|private|protected)\s*:")
    while match := for_each.search(text, at):
        at = match.start()
        if match[0] == "}":
            if scopes:
                scopes.pop()
            at, head = at + 1, at + 1
        elif match[0] != "{":
            head = at = match.end()
        else:
            declaration = text[head:at]
            bare = strip_parens(declaration)
            if re.search(r"(?:^|\s)(?:namespace|extern)\b", bare) or (
                    re.search(r"(?:^|\s|>)(?:class|struct|union)\s", bare) and not re.search(r"\)\s*(const|noexcept|override|final|\s)*$", declaration)):
                scopes.append(declaration)
                at, head = at + 1, at + 1
                continue
            close = matching(text, at)
            if body_start(text, head, at):
                first = head + len(text[head:]) - len(text[head:].lstrip())
                lines = text.count("\n", first, close) + 1
                rows = data_lines(text, at + 1, close) if lines > 60 else 0
                found.append((name_of(declaration), text.count("\n", 0, first) + 1, lines, lines - rows))
                at, head = close + 1, close + 1
            else:
                at = close + 1  # an initializer, an enum, or a member's initial value: the declaration goes on
    return found
