"""Settings of the whole suite."""

from hypothesis import settings

# A test's time is the machine's affair: on a busy one the default of 200 ms an example fails now and then.
settings.register_profile("tilec", deadline=None)
settings.load_profile("tilec")
