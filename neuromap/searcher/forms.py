def to_dict(x): return {"points": len(x.points)}
