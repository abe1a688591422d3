"""How the cube core and the vector cores of a mixed kernel hand global memory to each other. Pure: imports no xDSL."""
