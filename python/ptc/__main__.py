"""Starts ptc in the place of this process."""

import os
import sys

from ._call import binary


def main():
    path = binary()
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
