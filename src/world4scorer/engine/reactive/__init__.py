"""Reactive traffic of NAVSIM v2.2: vehicles of the current frame follow their lanes and brake for the ego (IDM).

`start` says which vehicles are simulated and from where, `drive` moves them beside one rollout of the ego. What the
official code does in ways one would not expect is kept, under these names:

* no lights: traffic lights never reach the simulated vehicles;
* one segment: a path is the baseline of one lane, without successors, and its end is a standing obstacle;
* dropped last vertex: the path ends at the last but one vertex of the baseline;
* ego on the rear axle: the box of the ego that vehicles see is centred on its rear axle, 1.461 m too far back;
* shared target speed: a vehicle on a lane without limit takes the limit of the vehicle accepted before it;
* unwrapped headings: a vehicle is put on the lane whose heading differs least from its own, without wrapping;
* squared gap: a negative desired gap brakes like a positive one;
* footprints: gaps are measured between shapes that reach 1.5 s ahead, so that a follower can be the leading object;
* sequential updates: a vehicle sees the new state of those before it in the list and the old state of the others;
* vanishing vehicles: who cannot be simulated is gone after the first step, except parked vehicles, which are hidden
  while a simulated one passes over them.
"""
