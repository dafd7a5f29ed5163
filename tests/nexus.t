# NXazint1d and NXazint2d beside pyFAI's layout, and the sums that curves are made of: what is in the files, what others make
# of them, and files of others.
test_name=nexus
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP this build has no HDF5'; exit 0; }
HALCYON_CACHE_DIR=$work/cache
export HALCYON_CACHE_DIR
python=${PYTHON:-python3}

"$halcyon" simulate r.h5 --shape 120x150 --frames 4 --seed 3 -q || exit 99
wavelength=`awk '$1 == "Wavelength:" { print $2 }' r.poni`
integrate() { "$halcyon" integrate r.h5 -p r.poni -d cpu@threads=1 -q --split no --error-model poisson "$@"; }
info() { "$halcyon" info "$1" >said && grep -e "$2" said; }
check '2 theta' integrate -n 50 -u 2th_deg --radial-range 5,40 --sums -o angle.h5
check '... is NXazint1d' info angle.h5 "definition .*NXazint1d (NeXus)"
check '... has sums' info angle.h5 'sums .*added and rebinned'
check 'q' integrate -n 50 -u q_nm^-1 -o q.h5
check '... is NXazint1d' info q.h5 "definition .*NXazint1d (NeXus)$"
check '... has what makes sums of it' info q.h5 'sums .*data x norm'
check 'a cake' integrate -n 50 -u 2th_rad --npt-azim 12 --sums -o cake.h5
check '... is NXazint2d' info cake.h5 'definition .*NXazint2d'
check 'a radius' integrate -n 50 -u r_mm -o radius.h5
check '... is no NXazint' not info radius.h5 definition
grep -v '^Wavelength' r.poni >dark.poni
check 'no wavelength' "$halcyon" integrate r.h5 -p dark.poni -d cpu -q -u 2th_deg -o dark.h5
check '... is no NXazint, which wants one' not info dark.h5 definition
check 'divided by a number' integrate -n 50 -u 2th_deg --normalization 3 -o divided.h5
check 'running averages' integrate -n 50 -u 2th_deg --radial-range 5,40 --average 2 --sums -o average.h5
check 'divided pixels' integrate -n 50 -u 2th_deg --radial-range 5,40 --split bbox --sums -o parts.h5
check '... in half as many bins' integrate -n 25 -u 2th_deg --radial-range 5,40 --split bbox --sums -o parts_half.h5
check 'sums have no place in text' refused 2 'use .h5' integrate --sums -o x.dat

# The same sums whoever made them, and from sums the same curves.
check 'half as many bins' integrate -n 25 -u 2th_deg --radial-range 5,40 --sums -o half.h5
check 'sums of two frames' integrate -n 50 -u 2th_deg --radial-range 5,40 --sum 2 -o pairs.h5
check 'while it follows' integrate -n 50 -u 2th_deg --radial-range 5,40 --sums --follow --follow-timeout 0.2 -o follow.h5
check 'in processes' "$halcyon" integrate r.h5 -p r.poni --processes 2 -q --split no --error-model poisson -n 50 -u 2th_deg \
    --radial-range 5,40 --sums -o processes.h5
check 'of two parts' sh -c "for i in 0 1; do '$halcyon' integrate r.h5 -p r.poni -d cpu@threads=1 -q --split no \
    --error-model poisson -n 50 -u 2th_deg --radial-range 5,40 --sums --shard \$i/2 -o part.h5 || exit 1; done"
check '... merged' "$halcyon" merge part.0-of-2.h5 part.1-of-2.h5 -o merged.h5 -q
check '... is NXazint1d' info merged.h5 'definition .*NXazint1d'
if "$python" -c 'import h5py' 2>no.h5py; then
    check 'h5py: sums are those of the curves, can be added and rebinned' "$python" - <<'END'
import h5py, numpy
from numpy.testing import assert_allclose, assert_array_equal
def results(name): return h5py.File(name)["entry_0000/integrate/results"]
angle, half, pairs = results("angle.h5"), results("half.h5"), results("pairs.h5")
sums = ["sum_signal", "sum_variance", "sum_normalization", "sum_normalization2", "count"]
signal, variance, norm, norm2, count = (angle[name][()] for name in sums)
assert signal.shape == (4, 50) and signal.dtype == "f8" and norm.min() > 0
assert_allclose(angle["data"], signal / norm, rtol=1e-14)
assert_allclose(angle["data_errors"], numpy.sqrt(variance) / norm, rtol=1e-14)
# Pixels that a frame alone has lost are in its own sums: hot ones and gaps, so some bins have fewer than the plan.
whole = count == angle["pixels"][()]
assert whole.any() and not whole.all()
assert_array_equal(norm[whole], numpy.broadcast_to(angle["norm"][()], norm.shape)[whole])
for name in sums:
    assert_allclose(angle[name][()].reshape(4, 25, 2).sum(2), half[name][()], rtol=1e-12)
assert_allclose(signal.reshape(2, 2, 50).sum(1) / norm.reshape(2, 2, 50).mean(1), pairs["data"], rtol=1e-12)
assert "sum_signal" not in pairs and "norm" in pairs
for other in "follow.h5", "processes.h5", "merged.h5":
    for name in sums + ["data", "norm"]:
        assert_array_equal(angle[name][()], results(other)[name][()], other)
cake = results("cake.h5")
assert cake["sum_signal"].shape == (4, 12, 50) and cake["sum_signal"].dtype == "f8" and cake["norm"].shape == (12, 50)
# A running average has its frames' sums: signals and normalizations of both, their mean count.
average = results("average.h5")
assert_allclose(average["sum_signal"][1:], signal[1:] + signal[:-1], rtol=1e-14)
assert_allclose(average["sum_normalization"][1:], norm[1:] + norm[:-1], rtol=1e-14)
assert_allclose(average["count"][1:], (count[1:] + count[:-1]) / 2, rtol=1e-14)
assert_allclose(average["sum_signal"][()] / average["sum_normalization"][()], average["data"], rtol=1e-14)
# Divided pixels: curves can be rebinned; squares of parts are less than the square of both.
parts, wide = results("parts.h5"), results("parts_half.h5")
for name in sums:
    added = parts[name][()].reshape(4, 25, 2).sum(2)
    if name in ("sum_variance", "sum_normalization2"):
        assert (added < wide[name][()]).all(), name
    else:
        assert_allclose(added, wide[name][()], rtol=1e-12)
applied = lambda name: bool(h5py.File(name)["azint/monitor_applied"][()])
assert applied("divided.h5") and not applied("angle.h5")
full = cake["count"][()] > 0
assert_allclose(cake["data"][()][full], (cake["sum_signal"][()][full] / cake["sum_normalization"][()][full]), rtol=1e-6)
END
    cat >definition.py <<'END'
# What NXazint1d and NXazint2d demand (nexusformat/definitions, 2025.11).
import sys, h5py, numpy
from numpy.testing import assert_allclose, assert_array_equal
path, definition, name, units, factor, wavelength = sys.argv[1:]
f = h5py.File(path)
entry, plain = f["azint"], f["entry_0000/integrate/results"]
text = lambda group, name: group[name].asstr()[()]
classes = {"": "NXentry", "instrument": "NXinstrument", "instrument/monochromator": "NXmonochromator",
           "instrument/source": "NXsource", "reduction": "NXprocess", "reduction/input": "NXparameters", "data": "NXdata"}
for group, want in classes.items():
    assert entry[group or "."].attrs["NX_class"] == want, group
assert text(entry, "definition") == definition and entry.attrs["default"] == "data"
for flag, want in {"solid_angle": True, "polarization": False, "normalization": True, "monitor": False}.items():
    value = entry[flag + "_applied"][()]
    assert value.dtype == bool and value == want, flag
for field in ["instrument/name", "instrument/source/name", "instrument/source/type", "instrument/source/probe",
              "reduction/program", "reduction/version", "reduction/date", "reduction/reference"]:
    assert text(entry, field), field
mono = entry["instrument/monochromator"]
assert_allclose(mono["wavelength"][()], 1e10 * float(wavelength)); assert mono["wavelength"].attrs["units"] == "angstrom"
assert_allclose(mono["energy"][()] * mono["wavelength"][()], 12.39841984); assert mono["energy"].attrs["units"] == "keV"
data, images = entry["data"], definition == "NXazint2d"
assert list(data.attrs["axes"]) == ([".", "azimuthal_axis", "radial_axis"] if images else [".", "radial_axis"])
assert data.attrs["signal"] == "I" and data.attrs["interpretation"] == ("image" if images else "spectrum")
assert_array_equal(data["I"], plain["data"]); assert_array_equal(data["I_errors"], plain["data_errors"])
assert_array_equal(data["norm"], plain["norm"])
words = {"I": ("intensity", "arbitrary units"), "I_errors": ("estimated intensity error", "arbitrary units"),
         "norm": ("effective number of pixels contributing to the corresponding bin", "arbitrary units"),
         "radial_axis": (name, units), "radial_axis_edges": (name + " bin edges", units)}
if images:
    words["azimuthal_axis"] = "azimuthal bin center", "degrees"
    words["azimuthal_axis_edges"] = "azimuthal bin edges", "degrees"
    assert_array_equal(data["azimuthal_axis"], plain["chi"])
for field, want in words.items():
    assert (data[field].attrs["long_name"], data[field].attrs["units"]) == want, field
    if field.endswith("_edges"):
        edges = data[field][()]
        assert_allclose((edges[1:] + edges[:-1]) / 2, data[field[:-6]], rtol=1e-12, atol=1e-10)
assert_allclose(data["radial_axis"], float(factor) * plain["radial"][()], rtol=1e-15)
# What GSAS-II's importer does (G2pwd_HDF5): the first NXentry, each class by its last group, 2 theta by its word.
first = next(key for key in f if f[key].attrs.get("NX_class") == "NXentry")
assert first == "azint"
found = {}
def visit(key, thing):
    if "NX_class" in thing.attrs:
        found[thing.attrs["NX_class"]] = thing
f[first].visititems(visit)
given = found["NXparameters"]
assert text(given, "unit") == ("q" if name == "q" else "2th")
assert "int" in str(given["azimuth_bins"].dtype) and given["azimuth_bins"][()] == (12 if images else 1)
assert "float" in str(given["polarization_factor"].dtype) and "float" in str(found["NXmonochromator"]["wavelength"].dtype)
assert len(found["NXdata"]["I"]) == 4 and found["NXdata"]["I"].shape[-1] == len(found["NXdata"]["radial_axis"])
assert found["NXinstrument"]["name"][()].decode() and found["NXsource"]["name"][()].decode()
END
    check 'NXazint1d in 2 theta' "$python" definition.py angle.h5 NXazint1d 2theta degrees 1 "$wavelength"
    check 'NXazint1d in q' "$python" definition.py q.h5 NXazint1d q 1/angstrom 0.1 "$wavelength"
    check 'NXazint2d' "$python" definition.py cake.h5 NXazint2d 2theta degrees 57.29577951308232 "$wavelength"
    check 'NXazint1d of a merged file' "$python" definition.py merged.h5 NXazint1d 2theta degrees 1 "$wavelength"
    # As MAX IV's writer lays its files out: no default at the root, names in capitals.
    "$python" - <<'END'
import h5py
with h5py.File("angle.h5") as f, h5py.File("maxiv.h5", "w") as g:
    entry = g.create_group("ENTRY"); entry.attrs["NX_class"] = "NXentry"; entry.attrs["default"] = "DATA"
    entry["definition"] = "NXazint1d"
    data = entry.create_group("DATA")
    for key, value in {"NX_class": "NXdata", "signal": "I", "axes": [".", "radial_axis"]}.items():
        data.attrs[key] = value
    for key in "I", "I_errors", "radial_axis":
        data[key] = f["azint/data"][key][()]
        for word in "long_name", "units":
            data[key].attrs[word] = f["azint/data"][key].attrs[word]
END
    "$python" - <<'END'
import h5py
with h5py.File("m_master.h5", "w") as f:
    f["entry/data/data_000001"] = h5py.ExternalLink("m_data_000001.h5", "entry/data/data")
    f["entry/instrument/detector/x_pixel_size"] = f["entry/instrument/detector/y_pixel_size"] = 7.5e-5
    f["entry/instrument/detector"].attrs["NX_class"] = "NXdetector"
END
    for command in info plot; do
        check "$command: a master without its data" refused 1 '/m_data_000001.h5 is not there.*put the file beside it' \
            "$halcyon" $command "`pwd`/m_master.h5"
    done
    check "MAX IV's file is known" info maxiv.h5 '4 patterns'
    check '... its axis' info maxiv.h5 '50 bins of 2th_deg, 5.35 to 39.65'
    check '... its errors' info maxiv.h5 'errors .*yes'
    check '... its definition' info maxiv.h5 'definition .*NXazint1d'
    # One image without a dimension of frames; and errors that are another image's.
    "$python" - <<'END'
import h5py
def put(path, rows):
    with h5py.File("cake.h5") as f, h5py.File(path, "w") as g:
        entry = g.create_group("entry"); entry.attrs["NX_class"] = "NXentry"; entry.attrs["default"] = "data"
        data = entry.create_group("data")
        for key, value in {"NX_class": "NXdata", "signal": "I", "axes": ["azimuthal_axis", "radial_axis"]}.items():
            data.attrs[key] = value
        cake = f["azint/data"]
        data["I"], data["I_errors"] = cake["I"][1], cake["I_errors"][1][:rows]
        data["radial_axis"], data["azimuthal_axis"] = cake["radial_axis"][()], cake["azimuthal_axis"][()]
put("image.h5", 12)
put("other.h5", 11)
END
    check 'one image alone' info image.h5 '1 cake '
    check '... its azimuths' info image.h5 'azimuth .*12 bins'
    check '... its numbers' "$halcyon" plot image.h5 --terminal text
    check 'errors of another image are not taken' not info other.h5 'of integration'
else
    skip "$python has no h5py (PYTHON names one that has)"
fi
if "$python" -c 'import pyFAI, silx' 2>no.silx; then
    check 'silx: NXdata that are valid' "$python" - <<'END'
import h5py
from silx.io.nxdata import NXdata, get_default
for path, rank in ("angle.h5", 2), ("q.h5", 2), ("cake.h5", 3):
    with h5py.File(path) as f:
        assert get_default(f).group.name == "/entry_0000/integrate/results"
        data = NXdata(f["azint/data"])
        assert data.is_valid and not data.issues, data.issues
        assert data.signal_dataset_name == "I" and data.signal.ndim == rank and data.errors is not None
        assert data.axes_dataset_names[-1] == "radial_axis" and data.interpretation == ("image" if rank == 3 else "spectrum")
END
    check "pyFAI finds the entry, and writes one itself" "$python" - <<'END'
import numpy, pyFAI
from pyFAI.io import nexus
ai = pyFAI.load("r.poni")
result = ai.integrate1d(numpy.ones(ai.detector.shape, "f4"), 50, unit="2th_deg", radial_range=(5, 40), error_model="poisson")
nexus.save_NXazint1d("pyfai.h5", [result, result])
with nexus.Nexus("angle.h5", "r") as f:
    assert "NXazint1d" in f.get_class(f.h5, "NXentry")[0]["definition"].asstr()[()]
END
    check '... which is known' info pyfai.h5 '2 patterns'
    check '... its axis' info pyfai.h5 '50 bins of 2th_deg'
    check '... its definition' info pyfai.h5 'definition .*NXazint1d'
else
    skip "$python has no silx and pyFAI (PYTHON names one that has)"
fi
echo "1..$n"
exit $failed
