"""Pictures for the notebooks: functions that take plain data and give an SVG picture, which shows itself in a cell.

from course.pictures import draw_road, draw_tree
"""

from course.pictures.banks import draw_banks
from course.pictures.bars import Bar, draw_bars
from course.pictures.butterfly import draw_butterfly
from course.pictures.chain import draw_chain
from course.pictures.gpu import draw_gpu, draw_grid, draw_memories
from course.pictures.matrices import draw_matrices
from course.pictures.names import draw_names
from course.pictures.owners import Cell, draw_cells, draw_holdings
from course.pictures.passes import draw_pass
from course.pictures.road import draw_road
from course.pictures.roof import Point, draw_roofline
from course.pictures.shapes import draw_broadcast
from course.pictures.timeline import Span, draw_timeline
from course.pictures.tokens import draw_tokens
from course.pictures.trees import Tree, draw_tree, syntax_tree
from course.pictures.warps import draw_warp
from tilelang.notebook.drawings import draw_layout, draw_profile
from tilelang.notebook.linked import Column, Row, linked, side_by_side

__all__ = [
    "Bar",
    "Cell",
    "Column",
    "Point",
    "Row",
    "Span",
    "Tree",
    "draw_banks",
    "draw_bars",
    "draw_broadcast",
    "draw_butterfly",
    "draw_cells",
    "draw_chain",
    "draw_gpu",
    "draw_grid",
    "draw_holdings",
    "draw_layout",
    "draw_matrices",
    "draw_memories",
    "draw_names",
    "draw_pass",
    "draw_profile",
    "draw_road",
    "draw_roofline",
    "draw_timeline",
    "draw_tokens",
    "draw_tree",
    "draw_warp",
    "linked",
    "side_by_side",
    "syntax_tree",
]
