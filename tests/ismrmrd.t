# ISMRMRD's own tools as an oracle, where they are installed (Debian: apt install ismrmrd-tools): files that they generate,
# their images of these, and our images read by their library (libismrmrd-dev).
test_name=ismrmrd
. "${top_srcdir:-.}/tests/cli.sh"
threads_elsewhere
command -v ismrmrd_generate_cartesian_shepp_logan >/dev/null || { echo '1..0 # SKIP no ismrmrd-tools'; exit 0; }
[ -n "${HCY_HDF5-yes}" ] || { echo '1..0 # SKIP no HDF5'; exit 0; }
HALCYON_CACHE_DIR=$work/cache
HALCYON_DEVICE=cpu@threads=2
export HALCYON_CACHE_DIR HALCYON_DEVICE
files=${top_builddir:-.}/tests/recon_files
case $files in /*) ;; *) files=$OLDPWD/$files ;; esac
near() { "$files" near "$1" "$2" "$3"; }
recon() { "$halcyon" recon "$@" --deterministic -q; }
# Their generator's noise is the same in every run.  make FILE WORDS...: with their own image, /dataset/cpp/data.
make()
{
    file=$1
    shift
    ismrmrd_generate_cartesian_shepp_logan -m 32 -o "$file" "$@" >tools.log && ismrmrd_recon_cartesian_2d "$file" >>tools.log
}
theirs=:/dataset/cpp/data

# Where all lines are measured, and nothing is beside the image's part of them, least squares are the inverse transform, noise
# and all; where lines come twice they are a mean, and their image has the last: there is no noise then.
while read -r scan sizes options; do
    make $scan.h5 $options
    check "$scan ($options)" recon $scan.h5 -o $scan.npy
    recon $scan.h5 -n $sizes -o x.npy
    check "... of the header's sizes, $sizes" cmp x.npy $scan.npy
    check '... is their image' near $scan.npy $scan.h5$theirs 2e-5
done <<END
plain 32,32 -c 4
many_coils 32,32 -c 16
noise_first 32,32 -c 3 -C
not_oversampled 32,16 -c 4 -n 0 -O 1
oversampled 32,64 -c 2 -O 4
trajectory 32,32 -c 4 -k
repeated 32,32 -c 2 -n 0 -r 3
interleaved 32,32 -c 4 -n 0 -a 4
calibrated 32,32 -c 4 -n 0 -a 2 -w 8
all_of_it 32,32 -c 3 -n 0 -C -r 2 -a 3 -w 10 -k
END
check 'a trajectory is what encoding steps say' near trajectory.npy plain.npy 1e-5
make one_coil.h5 -c 1 -n 0
check 'of one coil' recon one_coil.h5 -n 32,32 -o one_coil.npy
check '... an image is complex' sh -c "head -c 128 one_coil.npy | grep \"'<c8'\""
recon one_coil.h5 -n 32,32 --maps one_coil.h5:/dataset/csm -o x.npy
check '... and by its map their phantom' near x.npy one_coil.h5:/dataset/phantom 1e-3
make noisy.h5 -c 3 -C
check 'whitened by their noise' recon noisy.h5 --noise noisy.h5:/dataset/data/noise --maps noisy.h5:/dataset/csm -o w.npy
recon noisy.h5 --maps noisy.h5:/dataset/csm -o x.npy
check '... which is alike in all coils' near w.npy x.npy 0.1
check 'their maps and their phantom' recon calibrated.h5 -n 32,32 --maps calibrated.h5:/dataset/csm -o x.npy
check '... are one' near x.npy calibrated.h5:/dataset/phantom 1e-3
check '... also without maps' recon calibrated.h5 -n 32,32 --espirit -o x.npy
check '... of the same magnitude' "$files" error x.npy calibrated.npy 1e-3
# frame_of IMAGES LIKE PART: their first or last (PART: head, tail) image, in NumPy's file of one, as LIKE is.
frame_of()
{
    bytes=`expr \`wc -c <$2\` - 128`
    { head -c 128 $2; tail -c +129 $1 | $3 -c $bytes; } >frame.npy
}
# Repetitions are frames, the last of which is in their image.
make series.h5 -c 2 -r 3 -C
check 'repetitions' recon series.h5 -n 32,32 --frames 3 -o series.npy
frame_of series.npy plain.npy tail
check '... the last of which is their image' near frame.npy series.h5$theirs 2e-5
# Of each a third of the lines, and those for calibration, which are of it, too: as many for all.
make few.h5 -c 8 -n 0 -a 3 -w 8
check 'undersampled repetitions with lines for calibration' sh -c "'$halcyon' info few.h5 | grep '8 x 48 x 64'"
check '... as frames' recon few.h5 -n 32,32 --frames 3 --maps few.h5:/dataset/csm --iterations 300 --tolerance 1e-7 -o few.npy
frame_of few.npy one_coil.npy head
check '... are the phantom' near frame.npy few.h5:/dataset/phantom 1e-2

# What we write is what they read.
for pair in plain:4 one_coil:1; do
    recon ${pair%:*}.h5 -n 32,32 -o ${pair%:*}.mrd
done
cp plain.h5 both.mrd
check 'an image beside acquisitions' recon both.mrd -n 32,32 -o both.mrd:ours
check '... with which their tools go on' ismrmrd_recon_cartesian_2d both.mrd
cat >images.c <<'END'
#include <ismrmrd/dataset.h>
#include <ismrmrd/ismrmrd.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    ISMRMRD_Dataset d;
    ISMRMRD_Image image;
    if (argc < 3 || ismrmrd_init_dataset(&d, argv[1], "dataset") || ismrmrd_open_dataset(&d, false))
        return 1;
    const uint32_t n = ismrmrd_get_number_of_images(&d, argv[2]);
    for (uint32_t i = 0; i < n; i++) {
        if (ismrmrd_init_image(&image) || ismrmrd_read_image(&d, argv[2], i, &image))
            return 1;
        fprintf(stderr, "%ux%ux%u of %gx%gx%g mm, %u channels, type %u, kind %u, number %u\n", image.head.matrix_size[0],
                image.head.matrix_size[1], image.head.matrix_size[2], image.head.field_of_view[0],
                image.head.field_of_view[1], image.head.field_of_view[2], image.head.channels, image.head.data_type,
                image.head.image_type, image.head.image_index);
        fwrite(image.data, 1, ismrmrd_size_of_image_data(&image), stdout);
        ismrmrd_cleanup_image(&image);
    }
    return ismrmrd_close_dataset(&d);
}
END
# read_by_them FILE SERIES NPY HEADER...: the numbers are those of the array in NumPy's file, the headers these lines.
read_by_them()
{
    ./images $1 $2 >numbers 2>headers
    tail -c +129 $3 | cmp - numbers || return 1
    shift 3
    printf '%s\n' "$@" | diff - headers
}
if ${CC:-cc} `pkg-config --cflags hdf5 2>/dev/null` images.c -o images -lismrmrd >cc.log 2>&1; then
    check 'their library reads an image' read_by_them plain.mrd image_0 plain.npy '32x32x1 of 300x300x6 mm, 1 channels, type 5, kind 1, number 1'
    check '... a complex one' read_by_them one_coil.mrd image_0 one_coil.npy '32x32x1 of 300x300x6 mm, 1 channels, type 7, kind 5, number 1'
    check '... beside acquisitions' read_by_them both.mrd ours plain.npy '32x32x1 of 300x300x6 mm, 1 channels, type 5, kind 1, number 1'
    recon series.h5 -n 32,32 --frames 3 -o series.mrd
    check '... frames' read_by_them series.mrd image_0 series.npy '32x32x1 of 300x300x6 mm, 1 channels, type 5, kind 1, number 1' \
        '32x32x1 of 300x300x6 mm, 1 channels, type 5, kind 1, number 2' '32x32x1 of 300x300x6 mm, 1 channels, type 5, kind 1, number 3'
else
    for image in 'an image' 'a complex one' 'one beside acquisitions' frames; do
        skip "their library's headers are not here: $image"
    done
fi
echo "1..$n"
exit $failed
