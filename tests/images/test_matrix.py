#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Small images over the matrix of features, made elsewhere.

What the kernel mounts must be the same here; what it does not (quota,
casefold, large blocks are not in every kernel) must be read without a
complaint.
"""

import os
import sys

from judge import Failure, Skip, expect, main, need_root, ours, run
from judge import judge_same, theirs

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = os.path.join(HERE, "../../../shared/data/images",
                       "feature-matrix.tar.zst")


def test_images_feature_matrix_is_the_kernels():
    need_root()
    if not os.path.exists(ARCHIVE):
        raise Skip("../shared/data/images is not there")
    run("tar", "--zstd", "-xf", ARCHIVE)
    images = sorted(name for name in os.listdir(".") if name.endswith(".img"))
    judged = 0
    for image in images:
        try:
            seen, _ = ours(image)
            judge_same(seen, theirs(image))
            judged += 1
        except Skip:
            pass
        except Failure as reason:
            raise Failure(f"{image}: {reason}") from reason
    print(f"# {judged} of {len(images)} compared, the others read")
    expect(len(images) == 63, f"{len(images)} images")
    expect(judged >= 40, f"only {judged} compared")


if __name__ == "__main__":
    sys.exit(main([test_images_feature_matrix_is_the_kernels]))
