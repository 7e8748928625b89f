"""The mapper: legalise, partition, place, route, emit; what does not fit is refused as data."""
