"""Draws grouped horizontal bars as SVG. Standard library only."""

from xml.sax.saxutils import escape

COLOURS = ("#2a6f97", "#c9703a", "#6a994e", "#8d6a9f")
WIDTH, LABEL_WIDTH, VALUE_WIDTH, BAR, GAP = 860, 230, 130, 16, 14


def bars(title: str, groups: list[tuple[str, list[tuple[str, float, float, float]]]], unit: str) -> str:
    """`groups`: (label, [(series, median, lowest, highest)]). Each group has its own scale; the line is the spread."""
    series = []
    for _, values in groups:
        series += [name for name, *_ in values if name not in series]
    top = 64
    height = top + sum(len(values) * BAR + GAP for _, values in groups) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           f'<text x="12" y="22" font-size="15" font-weight="bold">{escape(title)}</text>']
    for index, name in enumerate(series):
        x = 12 + index * 220
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[index % len(COLOURS)]}"/>'
                   f'<text x="{x + 18}" y="44">{escape(name)}</text>')
    room = WIDTH - LABEL_WIDTH - VALUE_WIDTH
    y = top
    for label, values in groups:
        largest = max(highest for *_, highest in values) or 1
        out.append(f'<text x="12" y="{y + len(values) * BAR / 2 + 4}">{escape(label)}</text>')
        for name, median, lowest, highest in values:
            colour = COLOURS[series.index(name) % len(COLOURS)]
            scale = room / largest
            middle = y + BAR / 2
            out.append(f'<rect x="{LABEL_WIDTH}" y="{y + 1}" width="{max(median * scale, 1):.1f}" height="{BAR - 3}" fill="{colour}"/>')
            out.append(f'<line x1="{LABEL_WIDTH + lowest * scale:.1f}" x2="{LABEL_WIDTH + highest * scale:.1f}" '
                       f'y1="{middle}" y2="{middle}" stroke="black"/>')
            out.append(f'<text x="{LABEL_WIDTH + highest * scale + 6:.1f}" y="{middle + 4}">{median:,.0f} {escape(unit)}</text>')
            y += BAR
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"
