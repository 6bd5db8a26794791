"""Compiled functions, and the arrays that they take."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .functions import Compiled as Compiled
from .functions import Operation as Operation
from .functions import by_reference as by_reference
from .functions import compiled as compiled
from .functions import compiling_first as compiling_first
from .functions import interpreted as interpreted
from .functions import loops_of as loops_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@compiled
def put(target: NDArray[Any], values: NDArray[Any]) -> None:
    """`target[:] = values` for vectors of one length, in compiled code.

    numba words what it would say of other lengths from the numbers: such an assignment brings its code for text into
    every function that has one, which takes seconds to compile.
    """
    for place in range(len(target)):
        target[place] = values[place]
