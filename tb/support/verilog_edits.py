# SPDX-License-Identifier: Apache-2.0
"""Single edits of Verilog that change what it does: one operator, branch, assignment or constant each."""

import re

BINARY = {
    "&&": "||",
    "||": "&&",
    "==": "!=",
    "!=": "==",
    "<": "<=",
    ">": ">=",
    ">=": ">",
    "<=": "<",
    "+": "-",
    "-": "+",
    "*": "+",
    "&": "|",
    "|": "&",
    "^": "|",
    "<<": ">>",
    ">>": "<<",
    ">>>": ">>",
}
UNARY = {"!": "", "~": "", "&": "|", "|": "&"}
TOKEN = re.compile(r"\d*'s?[bdh][0-9a-fA-F_]+|[A-Za-z_$][\w$]*|\d+|>>>|<<<|&&|\|\||==|!=|<=|>=|<<|>>|\+:|-:|\S")


def blanked(text: str) -> str:
    """The text with comments, directives and strings replaced by spaces of the same length."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"[^"\n]*"|`[^\n]*', lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def hidden(code: str) -> list:
    """Spans in which a mutation says nothing about behaviour: ports, ranges, widths, loop headers, declarations of
    sizes."""
    spans = [m.span() for m in re.finditer(r"\bmodule\b.*?\)\s*;", code, re.S)]
    spans += [
        m.span() for m in re.finditer(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*:[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]", code)
    ]
    spans += [m.span() for m in re.finditer(r"\bfor\s*\([^;]*;[^;]*;[^)]*\)", code)]
    spans += [
        m.span()
        for m in re.finditer(
            r"\blocalparam\b(?!\s*(?:signed\s*)?\[)[^;]*;|\b(?:wire|assign)\s[^;=]*_unused\b[^;]*;", code
        )
    ]
    spans += [
        m.span() for m in re.finditer(r"\{\s*[\w$()*/+ -]+(?=\{)|#\s*\((?:[^()]|\([^()]*\))*\)", code)
    ]  # counts of replication, parameters
    return spans


def statement_ends(code: str, start: int) -> tuple:
    """(place of the ':' of the '?' before start, end of the expression behind it)."""
    depth, questions, colon = 0, 0, None
    for place in range(start, len(code)):
        char = code[place]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return colon, place
        elif depth == 0 and char == "?":
            questions += 1
        elif depth == 0 and char == ":" and colon is None:
            if questions == 0:
                colon = place
            else:
                questions -= 1
        elif depth == 0 and char in ";,":
            return colon, place
    return colon, len(code)


def closing(code: str, start: int) -> int:
    """Place of the bracket that closes the one at start."""
    depth = 0
    for place in range(start, len(code)):
        depth += (code[place] == "(") - (code[place] == ")")
        if depth == 0:
            return place
    raise ValueError("brackets do not match")


def edits(text: str) -> list:
    """All single edits of a source text: (place, length, new text, kind), in the order of the text."""
    code, found = blanked(text), []
    spans = hidden(code)
    tokens = [(m[0], m.start()) for m in TOKEN.finditer(code)]
    depth, assigned, bracket = 0, False, 0
    for i, (token, place) in enumerate(tokens):
        before = tokens[i - 1][0] if i else ";"
        after = tokens[i + 1][0] if i + 1 < len(tokens) else ";"
        depth += (token in "([{") - (token in ")]}")
        bracket += (token == "[") - (token == "]")
        if token in (";", "begin", "end", "else") or (token == ":" and depth == 0):
            assigned = False
        operand_before = bool(re.match(r"[\w'$)\]}]", before)) and before not in (
            "if",
            "return",
            "assign",
            "else",
            "begin",
        )
        is_assignment = token in ("=", "<=") and depth == 0 and not assigned
        if is_assignment:
            assigned = True
        if any(a <= place < b for a, b in spans):
            continue
        if is_assignment:
            if token == "<=":
                start = max(code.rfind(c, 0, place) for c in (";", ")", "\n", ":")) + 1
                if code[:place].rstrip().endswith(")") is False and re.match(r"\s*[\w$]", code[start:place] or " "):
                    word = re.search(r"\b(?:begin|else)\s+", code[start:place])
                    start = start + (word.end() if word else len(code[start:place]) - len(code[start:place].lstrip()))
                    end = code.index(";", place)
                    found.append((start, end - start, "", "drop the assignment"))
        elif token in BINARY and operand_before:
            found.append((place, len(token), BINARY[token], f"{token} to {BINARY[token]}"))
        elif token in UNARY and not operand_before:
            found.append((place, len(token), UNARY[token], f"unary {token} to {UNARY[token] or 'nothing'}"))
        elif token == "if" and after == "(":
            start = tokens[i + 1][1]
            end = closing(code, start)
            found.append((start, end + 1 - start, f"(!{text[start : end + 1]})", "swap the branches"))
        elif token == "?":
            colon, end = statement_ends(code, place + 1)
            if colon is not None:
                left, right = text[place + 1 : colon].strip(), text[colon + 1 : end].strip()
                found.append((place + 1, end - place - 1, f" {right} : {left}", "swap the choices"))
        elif m := re.fullmatch(r"(\d*)'(s?)([bdh])([0-9a-fA-F_]+)", token):
            base = {"b": 2, "d": 10, "h": 16}[m[3]]
            value = (int(m[4].replace("_", ""), base) + 1) % (1 << int(m[1] or 32))
            found.append((place, len(token), f"{m[1]}'{m[2]}d{value}", "constant plus one"))
        elif token.isdigit() and after != "'" and (depth == 0 or bracket == 0):
            found.append((place, len(token), str(int(token) + 1), "constant plus one"))
    return found
