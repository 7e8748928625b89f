"""The studio: edit a network and its rollouts, and run a chip live, in the browser (``docs/studio.md``)."""
