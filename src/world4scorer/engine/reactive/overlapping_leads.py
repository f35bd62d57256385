"""Which of several overlapping shapes counts as the nearest.

Two or more shapes often overlap a vehicle's own: all lie at distance 0, and the official code takes the one that a
search through an STR tree (GEOS, ten entries to a node) meets first. The tree sorts shapes by the x of their centres
into vertical slices and by y inside a slice, packs them into nodes of ten, and the nodes likewise; the search keeps
nodes and shapes in a binary heap (that of the C++ library) by distance, so that the order of equal distances follows
from how the heap moves its entries. The order in which shapes are put in matters only for equal centres.

Shapes: N shapes, bounds (N, 4).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from world4scorer.engine.kernels import inlined, kernel, leaf
from world4scorer.engine.reactive.rings import bounds_distance

NODE_CAPACITY: Final = 10


@kernel
def first_nearest(bounds, distances, own):
    """Index of the shape that the search returns, for distances (N,) of which the smallest occurs more than once.

    `own` (4,) are the bounds of the vehicle's own shape.
    """
    count = distances.size
    most = 2 * count + 8
    boxes = np.empty((most, 4))
    boxes[:count] = bounds
    order = np.arange(most)  # nodes in the order of the tree: shapes first, then each level above
    child_first = np.zeros(most, np.int64)
    child_count = np.zeros(most, np.int64)
    root = _build(boxes, order, child_first, child_count, count)
    return _search(boxes, order, child_first, child_count, distances, own, root)


@leaf
def _build(boxes, order, child_first, child_count, count):
    """Add the nodes above the first `count` entries of `boxes`; returns the root."""
    begin, number, used = 0, count, count
    while number > 1:
        slices = int(np.ceil(np.sqrt(np.ceil(number / NODE_CAPACITY))))
        per_slice = int(np.ceil(number / slices))
        _sort(boxes, order, begin, begin + number, 0)
        for start in range(begin, begin + number, per_slice):
            end = min(start + per_slice, begin + number)
            _sort(boxes, order, start, end, 1)
            for first in range(start, end, NODE_CAPACITY):
                last = min(first + NODE_CAPACITY, end)
                child_first[used], child_count[used] = first, last - first
                for k in range(4):
                    boxes[used, k] = boxes[order[first], k]
                for i in range(first + 1, last):
                    node = order[i]
                    boxes[used, 0] = min(boxes[used, 0], boxes[node, 0])
                    boxes[used, 1] = min(boxes[used, 1], boxes[node, 1])
                    boxes[used, 2] = max(boxes[used, 2], boxes[node, 2])
                    boxes[used, 3] = max(boxes[used, 3], boxes[node, 3])
                used += 1
        begin, number = begin + number, used - begin - number
    return used - 1


@leaf
def _sort(boxes, order, start, end, axis):
    """Sort entries of `order` by the centres of their boxes along an axis, keeping the order of equal ones."""
    for i in range(start + 1, end):
        node = order[i]
        key = boxes[node, axis] + boxes[node, axis + 2]
        k = i
        while k > start and boxes[order[k - 1], axis] + boxes[order[k - 1], axis + 2] > key:
            order[k] = order[k - 1]
            k -= 1
        order[k] = node


@kernel
def _search(boxes, order, child_first, child_count, distances, own, root):
    heap = np.empty(boxes.shape[0], np.int64)
    keys = np.empty(boxes.shape[0])
    heap[0], keys[0], size = root, 0.0, 1
    while True:
        node = heap[0]
        if child_count[node] == 0:  # nothing in the heap is nearer than the first shape on top of it
            return node
        size = _pop(heap, keys, size)
        for i in range(child_first[node], child_first[node] + child_count[node]):
            child = order[i]
            key = distances[child] if child_count[child] == 0 else bounds_distance(boxes[child], own)
            _rise(heap, keys, size, child, key)
            size += 1


@inlined
def _rise(heap, keys, hole, node, key):
    """Put an entry at `hole` and move it up past parents that are farther."""
    while hole > 0 and keys[(hole - 1) // 2] > key:
        parent = (hole - 1) // 2
        heap[hole], keys[hole] = heap[parent], keys[parent]
        hole = parent
    heap[hole], keys[hole] = node, key


@leaf
def _pop(heap, keys, size):
    """Remove the first entry as `std::pop_heap` does: the hole sinks to a leaf, then the last entry rises into it."""
    size -= 1
    node, key = heap[size], keys[size]
    hole = child = 0
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if keys[child] > keys[child - 1]:
            child -= 1
        heap[hole], keys[hole] = heap[child], keys[child]
        hole = child
    if size % 2 == 0 and size >= 2 and child == (size - 2) // 2:
        child = 2 * (child + 1)
        heap[hole], keys[hole] = heap[child - 1], keys[child - 1]
        hole = child - 1
    if size > 0:
        _rise(heap, keys, hole, node, key)
    return size
