"""How many neurons of a population a core holds, and what follows for axons and for cores of one kind each."""
