// Arrays of each thread, of words and of bytes, at places that run with the thread's number but for a limit, a
// remainder or a mask: neighbours read memory of their own. What must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<1, 64>>>(s32[64], s32:64, s32:50)
// check: 0 s32 @0: 19800 22331 24888 27471
// check: 0 s32 @8: 17736 19835 21960 24111
// check: 0 s32 @20: 44640 47174 49740 52338
// check: 0 s32 @31: 74274 71016 73934 76871
// check: 0 s32 @36: 82841 85874 88939 92036
// check: 0 s32 @44: 107665 110865 114095 116805
// check: 0 s32 @60: 128763 131547 134361 137205
kernel void k(global int *out, int n, int m)
{
    int l = get_local_id(0), a[64];
    uchar b[64];
    for (int i = 0; i < n; i++) {
        a[i] = l * 100 + i * i;
        b[i] = l * 7 + i;
    }
    int sum = a[min(l, 40)] + 3 * a[max(20, l)] + 5 * a[(l + 60) % n] + 7 * a[l + 9 & 63];
    out[l] = sum + 11 * b[(l + 3) % m] + 13 * b[min(l, 33)];
}
