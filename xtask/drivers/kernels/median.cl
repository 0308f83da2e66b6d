// The middle of nine points by exchanges; the edge is copied.
#define ORDER(a, b) { float t = fmin(a, b); b = fmax(a, b); a = t; }
kernel void median(global const float *in, global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = in[i];
        return;
    }
    float p[9];
    for (int n = 0; n < 9; n++) p[n] = in[i + (n / 3 - 1) * width + n % 3 - 1];
    ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[1]) ORDER(p[3], p[4]) ORDER(p[6], p[7])
    ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[3]) ORDER(p[5], p[8]) ORDER(p[4], p[7])
    ORDER(p[3], p[6]) ORDER(p[1], p[4]) ORDER(p[2], p[5]) ORDER(p[4], p[7]) ORDER(p[4], p[2]) ORDER(p[6], p[4])
    ORDER(p[4], p[2])
    out[i] = p[4];
}
