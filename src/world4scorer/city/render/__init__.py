"""Camera images of a city: a software renderer that needs neither GPU nor display.

Example::

    world = World.build(read_streets("berlin.net.xml"), seed=0)
    renderer = Renderer(world, CameraRig.default(), size=(112, 196))
    pictures = renderer.draw(ego_pose, actors, signals={}, weather=Weather.draw(7)).images
"""
