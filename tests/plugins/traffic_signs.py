"""Small files in the format of GTSRB, for tests of what reads tracks of traffic signs."""


def write_gtsrb(folder, tracks, pictures=3):
    """Give classes their tracks: picture k of track t of class c is of one colour, (c, t, k), in sizes of its own."""
    from PIL import Image

    for c, n_tracks in tracks.items():
        place = folder / "GTSRB" / "Final_Training" / "Images" / f"{c:05d}"
        place.mkdir(parents=True)
        lines = ["Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"]
        for t in range(n_tracks):
            for k in range(pictures):
                name = f"{t:05d}_{k:05d}.ppm"
                Image.new("RGB", (20 + k, 30 + t), (c, t, k)).save(place / name)
                lines.append(f"{name};{20 + k};{30 + t};5;5;15;15;{c}")
        (place / f"GT-{c:05d}.csv").write_text("\r\n".join([*lines, ""]))
