"""The studio: a network and its rollouts edited, a chip run live, in the browser (``docs/studio.md``)."""
