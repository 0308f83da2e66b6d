// Images (6.12.14), in software: an image argument is a pointer to a descriptor in global memory.
// docs/opencl.md describes the descriptor for hosts.
typedef ulong __image;
#define DATA(m) (*(__global const ulong *)(m))
#define FIELD(m, n) (((__global const uint *)(m))[n])
#define WIDTH(m) FIELD(m, 2)
#define HEIGHT(m) FIELD(m, 3)
#define DEPTH(m) FIELD(m, 4)
#define LAYERS(m) FIELD(m, 5)
#define ROW_PITCH(m) (((__global const ulong *)(m))[3])
#define SLICE_PITCH(m) (((__global const ulong *)(m))[4])
#define ORDER(m) FIELD(m, 10)
#define TYPE(m) FIELD(m, 11)
#define ELEMENT(m) FIELD(m, 12)

//! __image_address __image_channels __image_border __image_extent
ulong __image_address(__image m, int x, int y, int z)
{
    return DATA(m) + (ulong)z * SLICE_PITCH(m) + (ulong)y * ROW_PITCH(m) + (ulong)((uint)x * ELEMENT(m));
}
uint __image_channels(uint order)
{
    switch (order) {
    case CLK_R: case CLK_Rx: case CLK_A: case CLK_INTENSITY: case CLK_LUMINANCE: return 1;
    case CLK_RG: case CLK_RGx: case CLK_RA: return 2;
    default: return 4;
    }
}
// Alpha of the border: 1 where the image has none (8.2).
uint __image_border(uint order)
{
    return order == CLK_R || order == CLK_RG || order == CLK_RGB || order == CLK_LUMINANCE;
}
int __image_extent(__image m, int axis) { return (int)(axis == 0 ? WIDTH(m) : axis == 1 ? HEIGHT(m) : DEPTH(m)); }

//! __image_nearest __image_linear __image_wrap __image_layer
#define MODE 14u
int __image_wrap(int i, int size, uint sampler, bool *outside)
{
    if ((sampler & MODE) == CLK_ADDRESS_CLAMP && (i < 0 || i >= size)) *outside = true;
    return __ptx_max(__ptx_min(i, size - 1), 0);
}
int __image_nearest(float s, int size, uint sampler, bool *outside)
{
    float n = (float)size;
    if ((sampler & MODE) == CLK_ADDRESS_REPEAT) {
        int i = (int)__ptx_floor((s - __ptx_floor(s)) * n);
        return __ptx_max(__ptx_min(i > size - 1 ? i - size : i, size - 1), 0);
    }
    if ((sampler & MODE) == CLK_ADDRESS_MIRRORED_REPEAT) {
        float t = __ptx_abs(s - 2.0f * __ptx_rint(0.5f * s));
        return __ptx_max(__ptx_min((int)__ptx_floor(t * n), size - 1), 0);
    }
    return __image_wrap((int)__ptx_floor(sampler & 1u ? s * n : s), size, sampler, outside);
}
// The two texels around a coordinate, and the weight of the second.
float __image_linear(float s, int size, uint sampler, int *i, int *j, bool *outside_i, bool *outside_j)
{
    float n = (float)size;
    float u;
    if ((sampler & MODE) == CLK_ADDRESS_REPEAT) u = (s - __ptx_floor(s)) * n;
    else if ((sampler & MODE) == CLK_ADDRESS_MIRRORED_REPEAT) u = __ptx_abs(s - 2.0f * __ptx_rint(0.5f * s)) * n;
    else u = sampler & 1u ? s * n : s;
    u -= 0.5f;
    float whole = __ptx_floor(u);
    int first = (int)whole, second = first + 1;
    if ((sampler & MODE) == CLK_ADDRESS_REPEAT) {
        first = first < 0 ? first + size : first;
        second = second > size - 1 ? second - size : second;
        *i = __ptx_max(__ptx_min(first, size - 1), 0);
        *j = __ptx_max(__ptx_min(second, size - 1), 0);
    } else {
        *i = __image_wrap(first, size, sampler, outside_i);
        *j = __image_wrap(second, size, sampler, outside_j);
    }
    return u - whole;
}
int __image_layer(__image m, int layer) { return __ptx_max(__ptx_min(layer, (int)LAYERS(m) - 1), 0); }
int __image_layer(__image m, float layer) { return __image_layer(m, (int)__ptx_rint(layer)); }

//! __image_texel_f __image_texel_i __image_texel_ui
#define FETCH(T, CONVERT, WHOLE) { \
    if (n > 2u) { WHOLE(T, CONVERT) break; } \
    __global const T *q = (__global const T *)address; \
    c.x = CONVERT(q[0]); \
    if (n > 1u) c.y = CONVERT(q[1]); \
    break; }
// Texels of four channels are loaded and stored whole: their addresses are multiples of their size.
#define WHOLE8(T, CONVERT) \
    uint w = *(__global const uint *)address; \
    c.x = CONVERT((T)w); c.y = CONVERT((T)(w >> 8)); c.z = CONVERT((T)(w >> 16)); c.w = CONVERT((T)(w >> 24));
#define WHOLE16(T, CONVERT) \
    uint2 w = *(__global const uint2 *)address; \
    c.x = CONVERT(as_##T((ushort)w.x)); c.y = CONVERT(as_##T((ushort)(w.x >> 16))); \
    c.z = CONVERT(as_##T((ushort)w.y)); c.w = CONVERT(as_##T((ushort)(w.y >> 16)));
#define WHOLE32(T, CONVERT) c = *(__global const T##4 *)address;
// Channels in memory to components (5.3.1.1).
#define REORDER(ONE) \
    switch (ORDER(m)) { \
    case CLK_A: c = c.wwwx; break; \
    case CLK_RA: c = c.xzzy; break; \
    case CLK_BGRA: c = c.zyxw; break; \
    case CLK_ARGB: c = c.yzwx; break; \
    case CLK_INTENSITY: c = c.xxxx; break; \
    case CLK_LUMINANCE: c = c.xxxx; c.w = ONE; break; \
    case CLK_R: case CLK_Rx: case CLK_RG: case CLK_RGx: case CLK_RGB: case CLK_RGBx: c.w = ONE; break; \
    }
#define UNORM8(v) __ptx_div_rn((float)(v), 255.0f)
#define UNORM16(v) __ptx_div_rn((float)(v), 65535.0f)
#define SNORM8(v) __ptx_max(__ptx_div_rn((float)(v), 127.0f), -1.0f)
#define SNORM16(v) __ptx_max(__ptx_div_rn((float)(v), 32767.0f), -1.0f)
#define BITS(w, shift, count) __ptx_div_rn((float)((w) >> (shift) & ((1u << (count)) - 1u)), (float)((1u << (count)) - 1u))
float4 __image_texel_f(__image m, int x, int y, int z)
{
    ulong address = __image_address(m, x, y, z);
    uint n = __image_channels(ORDER(m));
    float4 c = (float4)(0.0f);
    switch (TYPE(m)) {
    case CLK_UNORM_INT8: FETCH(uchar, UNORM8, WHOLE8)
    case CLK_UNORM_INT16: FETCH(ushort, UNORM16, WHOLE16)
    case CLK_SNORM_INT8: FETCH(char, SNORM8, WHOLE8)
    case CLK_SNORM_INT16: FETCH(short, SNORM16, WHOLE16)
    case CLK_HALF_FLOAT: FETCH(half, (float), WHOLE16)
    case CLK_FLOAT: FETCH(float, , WHOLE32)
    case CLK_UNORM_SHORT_565: {
        uint w = *(__global const ushort *)address;
        c = (float4)(BITS(w, 11, 5), BITS(w, 5, 6), BITS(w, 0, 5), 1.0f);
        break;
    }
    case CLK_UNORM_SHORT_555: {
        uint w = *(__global const ushort *)address;
        c = (float4)(BITS(w, 10, 5), BITS(w, 5, 5), BITS(w, 0, 5), 1.0f);
        break;
    }
    case CLK_UNORM_INT_101010: {
        uint w = *(__global const uint *)address;
        c = (float4)(BITS(w, 20, 10), BITS(w, 10, 10), BITS(w, 0, 10), 1.0f);
        break;
    }
    }
    REORDER(1.0f)
    return c;
}
#define INTEGER_TEXEL(V, SUFFIX, KIND, T8, T16, T32) \
V __image_texel_##SUFFIX(__image m, int x, int y, int z) \
{ \
    ulong address = __image_address(m, x, y, z); \
    uint n = __image_channels(ORDER(m)); \
    V c = (V)(0); \
    switch (TYPE(m)) { \
    case CLK_##KIND##_INT8: FETCH(T8, , WHOLE8) \
    case CLK_##KIND##_INT16: FETCH(T16, , WHOLE16) \
    case CLK_##KIND##_INT32: FETCH(T32, , WHOLE32) \
    } \
    REORDER(1) \
    return c; \
}
INTEGER_TEXEL(int4, i, SIGNED, char, short, int)
INTEGER_TEXEL(uint4, ui, UNSIGNED, uchar, ushort, uint)

//! read_imagef read_imagei read_imageui read_imageh
// Coordinates in x, y, z for `dims` axes; the layer of an array stands for the axis behind the last one.
#define PLACED(V, SCALAR, SUFFIX, NAME, C, PLACE) \
V NAME##_##SUFFIX(__image m, uint sampler, C c, int dims, int layer) \
{ \
    bool outside = false; \
    int x = PLACE(c.x, __image_extent(m, 0), sampler, &outside), y = 0, z = layer; \
    if (dims > 1) y = PLACE(c.y, __image_extent(m, 1), sampler, &outside); \
    if (dims > 2) z = PLACE(c.z, __image_extent(m, 2), sampler, &outside); \
    if (outside) return (V)(0, 0, 0, (SCALAR)__image_border(ORDER(m))); \
    return __image_texel_##SUFFIX(m, x, y, z); \
}
#define CORE(V, SCALAR, SUFFIX) \
PLACED(V, SCALAR, SUFFIX, __image_at, int4, __image_wrap) \
PLACED(V, SCALAR, SUFFIX, __image_sample, float4, __image_nearest)
CORE(float4, float, f)
CORE(int4, int, i)
CORE(uint4, uint, ui)
float4 __image_filter(__image m, uint sampler, float4 c, int dims, int layer)
{
    if (!(sampler & CLK_FILTER_LINEAR)) return __image_sample_f(m, sampler, c, dims, layer);
    int x0, x1, y0 = 0, y1 = 0, z0 = layer, z1 = layer;
    bool ox0 = false, ox1 = false, oy0 = false, oy1 = false, oz0 = false, oz1 = false;
    float a = __image_linear(c.x, __image_extent(m, 0), sampler, &x0, &x1, &ox0, &ox1), b = 0.0f, d = 0.0f;
    if (dims > 1) b = __image_linear(c.y, __image_extent(m, 1), sampler, &y0, &y1, &oy0, &oy1);
    if (dims > 2) d = __image_linear(c.z, __image_extent(m, 2), sampler, &z0, &z1, &oz0, &oz1);
    float4 border = (float4)(0.0f, 0.0f, 0.0f, (float)__image_border(ORDER(m)));
    float4 sum = (float4)(0.0f);
    #pragma unroll 1
    for (int corner = 0; corner < 1 << dims; ++corner) {
        bool i = (corner & 1) != 0, j = (corner & 2) != 0, k = (corner & 4) != 0;
        bool outside = (i ? ox1 : ox0) || (j ? oy1 : oy0) || (k ? oz1 : oz0);
        float4 texel = outside ? border : __image_texel_f(m, i ? x1 : x0, j ? y1 : y0, k ? z1 : z0);
        float weight = (i ? a : 1.0f - a) * (dims > 1 ? j ? b : 1.0f - b : 1.0f) * (dims > 2 ? k ? d : 1.0f - d : 1.0f);
        sum += weight * texel;
    }
    return sum;
}
#define READ(V, NAME, FILTER, AT, CONVERT) \
V NAME(image1d_t i, sampler_t s, float c) { __image m = (__image)i; return CONVERT(FILTER(m, (uint)s, (float4)(c, 0.0f, 0.0f, 0.0f), 1, 0)); } \
V NAME(image1d_t i, sampler_t s, int c) { __image m = (__image)i; return CONVERT(AT(m, (uint)s, (int4)(c, 0, 0, 0), 1, 0)); } \
V NAME(image1d_t i, int c) { __image m = (__image)i; return CONVERT(AT(m, 0u, (int4)(c, 0, 0, 0), 1, 0)); } \
V NAME(image1d_buffer_t i, int c) { __image m = (__image)i; return CONVERT(AT(m, 0u, (int4)(c, 0, 0, 0), 1, 0)); } \
V NAME(image1d_array_t i, sampler_t s, float2 c) { __image m = (__image)i; return CONVERT(FILTER(m, (uint)s, (float4)(c.x, 0.0f, 0.0f, 0.0f), 1, __image_layer(m, c.y))); } \
V NAME(image1d_array_t i, sampler_t s, int2 c) { __image m = (__image)i; return CONVERT(AT(m, (uint)s, (int4)(c.x, 0, 0, 0), 1, __image_layer(m, c.y))); } \
V NAME(image1d_array_t i, int2 c) { __image m = (__image)i; return CONVERT(AT(m, 0u, (int4)(c.x, 0, 0, 0), 1, __image_layer(m, c.y))); } \
V NAME(image2d_t i, sampler_t s, float2 c) { __image m = (__image)i; return CONVERT(FILTER(m, (uint)s, (float4)(c, 0.0f, 0.0f), 2, 0)); } \
V NAME(image2d_t i, sampler_t s, int2 c) { __image m = (__image)i; return CONVERT(AT(m, (uint)s, (int4)(c, 0, 0), 2, 0)); } \
V NAME(image2d_t i, int2 c) { __image m = (__image)i; return CONVERT(AT(m, 0u, (int4)(c, 0, 0), 2, 0)); } \
V NAME(image2d_array_t i, sampler_t s, float4 c) { __image m = (__image)i; return CONVERT(FILTER(m, (uint)s, c, 2, __image_layer(m, c.z))); } \
V NAME(image2d_array_t i, sampler_t s, int4 c) { __image m = (__image)i; return CONVERT(AT(m, (uint)s, c, 2, __image_layer(m, c.z))); } \
V NAME(image2d_array_t i, int4 c) { __image m = (__image)i; return CONVERT(AT(m, 0u, c, 2, __image_layer(m, c.z))); } \
V NAME(image3d_t i, sampler_t s, float4 c) { __image m = (__image)i; return CONVERT(FILTER(m, (uint)s, c, 3, 0)); } \
V NAME(image3d_t i, sampler_t s, int4 c) { __image m = (__image)i; return CONVERT(AT(m, (uint)s, c, 3, 0)); } \
V NAME(image3d_t i, int4 c) { __image m = (__image)i; return CONVERT(AT(m, 0u, c, 3, 0)); }
READ(float4, read_imagef, __image_filter, __image_at_f, )
READ(int4, read_imagei, __image_sample_i, __image_at_i, )
READ(uint4, read_imageui, __image_sample_ui, __image_at_ui, )
READ(half4, read_imageh, __image_filter, __image_at_f, convert_half4)

//! write_imagef write_imagei write_imageui write_imageh
// Components to channels in memory.
#define TO_MEMORY \
    switch (ORDER(m)) { \
    case CLK_A: c.x = c.w; break; \
    case CLK_RA: c.y = c.w; break; \
    case CLK_BGRA: c = c.zyxw; break; \
    case CLK_ARGB: c = c.wxyz; break; \
    }
#define PUT(T, CONVERT, WHOLE) { \
    if (n > 2u) { WHOLE(CONVERT) break; } \
    __global T *q = (__global T *)address; \
    q[0] = CONVERT(c.x); \
    if (n > 1u) q[1] = CONVERT(c.y); \
    break; }
#define PUT8(CONVERT) *(__global uint *)address = \
    (uint)as_uchar(CONVERT(c.x)) | (uint)as_uchar(CONVERT(c.y)) << 8 | \
    (uint)as_uchar(CONVERT(c.z)) << 16 | (uint)as_uchar(CONVERT(c.w)) << 24;
#define PUT16(CONVERT) *(__global uint2 *)address = (uint2)( \
    (uint)as_ushort(CONVERT(c.x)) | (uint)as_ushort(CONVERT(c.y)) << 16, \
    (uint)as_ushort(CONVERT(c.z)) | (uint)as_ushort(CONVERT(c.w)) << 16);
#define PUT32(CONVERT) *(__global uint4 *)address = as_uint4(c);
#define TO_UNORM8(v) convert_uchar_sat_rte((v) * 255.0f)
#define TO_UNORM16(v) convert_ushort_sat_rte((v) * 65535.0f)
#define TO_SNORM8(v) convert_char_sat_rte((v) * 127.0f)
#define TO_SNORM16(v) convert_short_sat_rte((v) * 32767.0f)
#define TO_BITS(v, count) ((uint)__ptx_min(convert_ushort_sat_rte((v) * (float)((1u << (count)) - 1u)), (ushort)((1u << (count)) - 1u)))
void __image_put_f(__image m, int x, int y, int z, float4 c)
{
    ulong address = __image_address(m, x, y, z);
    uint n = __image_channels(ORDER(m));
    TO_MEMORY
    switch (TYPE(m)) {
    case CLK_UNORM_INT8: PUT(uchar, TO_UNORM8, PUT8)
    case CLK_UNORM_INT16: PUT(ushort, TO_UNORM16, PUT16)
    case CLK_SNORM_INT8: PUT(char, TO_SNORM8, PUT8)
    case CLK_SNORM_INT16: PUT(short, TO_SNORM16, PUT16)
    case CLK_HALF_FLOAT: PUT(half, convert_half_rte, PUT16)
    case CLK_FLOAT: PUT(float, , PUT32)
    case CLK_UNORM_SHORT_565:
        *(__global ushort *)address = (ushort)(TO_BITS(c.x, 5) << 11 | TO_BITS(c.y, 6) << 5 | TO_BITS(c.z, 5));
        break;
    case CLK_UNORM_SHORT_555:
        *(__global ushort *)address = (ushort)(TO_BITS(c.x, 5) << 10 | TO_BITS(c.y, 5) << 5 | TO_BITS(c.z, 5));
        break;
    case CLK_UNORM_INT_101010:
        *(__global uint *)address = TO_BITS(c.x, 10) << 20 | TO_BITS(c.y, 10) << 10 | TO_BITS(c.z, 10);
        break;
    }
}
void __image_put_i(__image m, int x, int y, int z, int4 c)
{
    ulong address = __image_address(m, x, y, z);
    uint n = __image_channels(ORDER(m));
    TO_MEMORY
    switch (TYPE(m)) {
    case CLK_SIGNED_INT8: PUT(char, convert_char_sat, PUT8)
    case CLK_SIGNED_INT16: PUT(short, convert_short_sat, PUT16)
    case CLK_SIGNED_INT32: PUT(int, , PUT32)
    }
}
void __image_put_ui(__image m, int x, int y, int z, uint4 c)
{
    ulong address = __image_address(m, x, y, z);
    uint n = __image_channels(ORDER(m));
    TO_MEMORY
    switch (TYPE(m)) {
    case CLK_UNSIGNED_INT8: PUT(uchar, convert_uchar_sat, PUT8)
    case CLK_UNSIGNED_INT16: PUT(ushort, convert_ushort_sat, PUT16)
    case CLK_UNSIGNED_INT32: PUT(uint, , PUT32)
    }
}
// Writes outside of the image are dropped.
#define WRITE_AS(A, V, NAME, PUT_TEXEL, CONVERT) \
void NAME(A image1d_t i, int c, V v) { __image m = (__image)i; if ((uint)c < WIDTH(m)) PUT_TEXEL(m, c, 0, 0, CONVERT(v)); } \
void NAME(A image1d_buffer_t i, int c, V v) { __image m = (__image)i; if ((uint)c < WIDTH(m)) PUT_TEXEL(m, c, 0, 0, CONVERT(v)); } \
void NAME(A image1d_array_t i, int2 c, V v) { __image m = (__image)i; if ((uint)c.x < WIDTH(m) && (uint)c.y < LAYERS(m)) PUT_TEXEL(m, c.x, 0, c.y, CONVERT(v)); } \
void NAME(A image2d_t i, int2 c, V v) { __image m = (__image)i; if ((uint)c.x < WIDTH(m) && (uint)c.y < HEIGHT(m)) PUT_TEXEL(m, c.x, c.y, 0, CONVERT(v)); } \
void NAME(A image2d_array_t i, int4 c, V v) { __image m = (__image)i; if ((uint)c.x < WIDTH(m) && (uint)c.y < HEIGHT(m) && (uint)c.z < LAYERS(m)) PUT_TEXEL(m, c.x, c.y, c.z, CONVERT(v)); } \
void NAME(A image3d_t i, int4 c, V v) { __image m = (__image)i; if ((uint)c.x < WIDTH(m) && (uint)c.y < HEIGHT(m) && (uint)c.z < DEPTH(m)) PUT_TEXEL(m, c.x, c.y, c.z, CONVERT(v)); }
#define WRITE(V, NAME, PUT_TEXEL, CONVERT) \
WRITE_AS(__write_only, V, NAME, PUT_TEXEL, CONVERT) \
WRITE_AS(__read_write, V, NAME, PUT_TEXEL, CONVERT)
WRITE(float4, write_imagef, __image_put_f, )
WRITE(int4, write_imagei, __image_put_i, )
WRITE(uint4, write_imageui, __image_put_ui, )
WRITE(half4, write_imageh, __image_put_f, convert_float4)

//! get_image_width get_image_height get_image_depth get_image_dim get_image_channel_data_type get_image_channel_order get_image_array_size
#define ALL(A, T) \
int get_image_width(A T i) { return (int)WIDTH((__image)i); } \
int get_image_channel_data_type(A T i) { return (int)TYPE((__image)i); } \
int get_image_channel_order(A T i) { return (int)ORDER((__image)i); }
#define TALL(A, T) int get_image_height(A T i) { return (int)HEIGHT((__image)i); }
#define LAYERED(A, T) size_t get_image_array_size(A T i) { return LAYERS((__image)i); }
#define QUERIES(A) \
ALL(A, image1d_t) ALL(A, image1d_buffer_t) ALL(A, image1d_array_t) ALL(A, image2d_t) ALL(A, image2d_array_t) ALL(A, image3d_t) \
TALL(A, image2d_t) TALL(A, image2d_array_t) TALL(A, image3d_t) \
LAYERED(A, image1d_array_t) LAYERED(A, image2d_array_t) \
int get_image_depth(A image3d_t i) { return (int)DEPTH((__image)i); } \
int2 get_image_dim(A image2d_t i) { __image m = (__image)i; return (int2)((int)WIDTH(m), (int)HEIGHT(m)); } \
int2 get_image_dim(A image2d_array_t i) { __image m = (__image)i; return (int2)((int)WIDTH(m), (int)HEIGHT(m)); } \
int4 get_image_dim(A image3d_t i) { __image m = (__image)i; return (int4)((int)WIDTH(m), (int)HEIGHT(m), (int)DEPTH(m), 0); }
QUERIES(__read_only)
QUERIES(__write_only)
QUERIES(__read_write)
