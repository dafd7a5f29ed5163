/* texture.cu - interpolation by texture hardware, by point fetches and by plain loads: rates and deviations on one GPU.
 * Why Halcyon has no textures; a program by itself, no part of the build or of the library:
 *
 *     nvcc -O3 -arch=sm_90 -o texture bench/texture.cu && ./texture
 *
 * 2-D bilinear on 2048^2 floats and 3-D trilinear on 256^3, N points each: random ones, and coherent ones (a raster
 * that is turned by 0.1 rad and has the grid's step, in order).  One thread a point; coordinates are read from memory
 * (8 or 12 bytes a point), results written (4 bytes).  Deviations are from double precision on the host, of 10^6 of the
 * points; values are uniform in [0, 1). */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); std::exit(1); } } while (0)

enum { N = 1 << 26, CHECKED = 1000000, TIMES = 20, S2 = 2048, S3 = 256 };

/* What is measured: 0 the hardware's filter, 1 point fetches, 2 __ldg of linear memory, 4 streams alone (coordinates
 * read, a number written): the bound of all. */
__device__ inline float lerp1(float a, float b, float t) { return fmaf(t, b - a, a); }

template <int HOW>
__global__ void interpolate2(float *out, const float2 *at, cudaTextureObject_t tex, const float *__restrict__ data)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    const float2 p = at[i];
    float r;
    if (HOW == 0) {
        r = tex2D<float>(tex, p.x + 0.5f, p.y + 0.5f);
    } else if (HOW == 4) {
        r = p.x + p.y;
    } else {
        const float fx = floorf(p.x), fy = floorf(p.y);
        const int x = (int)fx, y = (int)fy;
        float v[4];
        for (int k = 0; k < 4; k++)
            v[k] = HOW == 1 ? tex2D<float>(tex, x + (k & 1) + 0.5f, y + (k >> 1) + 0.5f)
                            : __ldg(data + (size_t)(y + (k >> 1)) * S2 + x + (k & 1));
        r = lerp1(lerp1(v[0], v[1], p.x - fx), lerp1(v[2], v[3], p.x - fx), p.y - fy);
    }
    out[i] = r;
}

struct point3 { float x, y, z; };

template <int HOW>
__global__ void interpolate3(float *out, const point3 *at, cudaTextureObject_t tex, const float *__restrict__ data)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    const point3 p = at[i];
    float r;
    if (HOW == 0) {
        r = tex3D<float>(tex, p.x + 0.5f, p.y + 0.5f, p.z + 0.5f);
    } else if (HOW == 4) {
        r = p.x + p.y + p.z;
    } else {
        const float fx = floorf(p.x), fy = floorf(p.y), fz = floorf(p.z);
        const int x = (int)fx, y = (int)fy, z = (int)fz;
        float v[8];
        for (int k = 0; k < 8; k++)
            v[k] = HOW == 1 ? tex3D<float>(tex, x + (k & 1) + 0.5f, y + (k >> 1 & 1) + 0.5f, z + (k >> 2) + 0.5f)
                            : __ldg(data + ((size_t)(z + (k >> 2)) * S3 + y + (k >> 1 & 1)) * S3 + x + (k & 1));
        const float tx = p.x - fx, ty = p.y - fy;
        r = lerp1(lerp1(lerp1(v[0], v[1], tx), lerp1(v[2], v[3], tx), ty),
                  lerp1(lerp1(v[4], v[5], tx), lerp1(v[6], v[7], tx), ty), p.z - fz);
    }
    out[i] = r;
}

static uint64_t state = 88172645463325252u;
static float uniform(float most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (float)((state >> 11) * 0x1p-53 * most);
}

static float wrapped(float x, float most)
{
    return std::fmin(std::fmax(x - most * std::floor(x / most), 0.f), most);
}

static double exact(const std::vector<float> &data, int size, int dim, const float *p)
{
    double sum = 0;
    for (int k = 0; k < 1 << dim; k++) {
        double w = 1;
        size_t at = 0;
        for (int d = dim - 1; d >= 0; d--) {
            const double f = std::floor((double)p[d]), t = p[d] - f;
            const int bit = k >> d & 1;
            w *= bit ? t : 1 - t;
            at = at * size + (size_t)f + bit;
        }
        sum += w * data[at];
    }
    return sum;
}

template <class LAUNCH>
static void measure(const char *what, const char *points, LAUNCH launch, float *out, const std::vector<float> &data,
                    int size, int dim, const std::vector<float> &at)
{
    cudaEvent_t begin, end;
    float ms;
    std::vector<float> got(CHECKED);
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    launch();
    float best = 1e30f;
    for (int i = 0; i < TIMES; i++) {
        CHECK(cudaEventRecord(begin));
        launch();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        best = ms < best ? ms : best;
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), out, CHECKED * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int i = 0; i < CHECKED; i++)
        worst = std::fmax(worst, std::fabs(got[i] - exact(data, size, dim, &at[(size_t)i * dim])));
    const double bytes = 4.0 * dim + 4;
    std::printf("%d-D %-9s %-16s %8.2f Gpoints/s  %7.0f GB/s of coordinates and results  largest deviation %.2e\n", dim,
                points, what, N / (best * 1e6), N * bytes / (best * 1e6), worst);
}

static cudaTextureObject_t make_texture(cudaArray_t array, cudaTextureFilterMode mode)
{
    cudaResourceDesc r = {};
    cudaTextureDesc t = {};
    cudaTextureObject_t tex;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = cudaAddressModeClamp;
    t.filterMode = mode;
    t.readMode = cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&tex, &r, &t, NULL));
    return tex;
}

static void run(int dim)
{
    const int size = dim == 2 ? S2 : S3;
    const size_t cells = dim == 2 ? (size_t)S2 * S2 : (size_t)S3 * S3 * S3;
    std::vector<float> data(cells), at((size_t)N * dim);
    for (float &v : data)
        v = uniform(1);
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    const cudaExtent extent = make_cudaExtent(size, size, dim == 2 ? 0 : size);
    float *on_card, *out, *points;
    CHECK(cudaMalloc(&on_card, cells * sizeof(float)));
    CHECK(cudaMalloc(&out, (size_t)N * sizeof(float)));
    CHECK(cudaMalloc(&points, (size_t)N * dim * sizeof(float)));
    CHECK(cudaMemcpy(on_card, data.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMalloc3DArray(&array, &format, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(data.data(), size * sizeof(float), size, size);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(size, size, dim == 2 ? 1 : size);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    const cudaTextureObject_t filter = make_texture(array, cudaFilterModeLinear),
                              point = make_texture(array, cudaFilterModePoint);
    const unsigned groups = N / 256;
    for (int coherent = 0; coherent < 2; coherent++) {
        const float most = size - 1.001f;
        for (size_t i = 0; i < N; i++) {
            /* The raster: rows of `size`, turned; what leaves the grid comes in again on the other side. */
            const float u = (float)(i % size), v = (float)(i / size % size);
            const float w = (float)(i / size / size % size) + 0.37f;
            const float x = std::cos(0.1f) * u - std::sin(0.1f) * v, y = std::sin(0.1f) * u + std::cos(0.1f) * v;
            float *p = &at[i * dim];
            if (coherent) {
                p[0] = wrapped(x, most);
                p[1] = wrapped(y, most);
                if (dim == 3)
                    p[2] = wrapped(w, most);
            } else {
                for (int d = 0; d < dim; d++)
                    p[d] = uniform(most);
            }
        }
        CHECK(cudaMemcpy(points, at.data(), at.size() * sizeof(float), cudaMemcpyHostToDevice));
        const char *name = coherent ? "coherent" : "random";
#define TRY(text, HOW, tex)                                                                                      \
    measure(text, name, [&] {                                                                                    \
        if (dim == 2)                                                                                            \
            interpolate2<HOW><<<groups, 256>>>(out, (const float2 *)points, tex, on_card);                       \
        else                                                                                                     \
            interpolate3<HOW><<<groups, 256>>>(out, (const point3 *)points, tex, on_card);                       \
    }, out, data, size, dim, at)
        TRY("hardware filter", 0, filter);
        TRY("point fetches", 1, point);
        TRY("plain loads", 2, point);
        TRY("streams alone *", 4, point);
    }
    CHECK(cudaDestroyTextureObject(filter));
    CHECK(cudaDestroyTextureObject(point));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(on_card));
    CHECK(cudaFree(out));
    CHECK(cudaFree(points));
}

int main()
{
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 0));
    std::printf("%s, %d points a launch, best of %d launches   (* the bound: nothing is interpolated)\n", p.name, N,
                TIMES);
    run(2);
    run(3);
    return 0;
}
