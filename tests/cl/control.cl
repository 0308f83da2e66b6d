// Statements: loops, switch, goto.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[10]:fill:-286331154)
// check: 0 s32: 6 15 2 3 110 4 55 7 12 9
int forward(int n)
{
    if (n > 3) goto big;
    n += 1;
    goto done;
big:
    n += 10;
done:
    return n;
}
int falls(int n)
{
    int r = 0;
    switch (n) {
    case 0: r += 1;
    case 1: r += 2; break;
    case 2: { r += 100; }
    default: r += 10; break;
    case 7: return -1;
    }
    return r;
}
__kernel void k(__global int *out)
{
    int i = 0;
again:
    if (++i < 6) goto again;
    out[0] = i;
    out[1] = forward(5);
    out[2] = falls(1);
    out[3] = falls(0);
    out[4] = falls(2);
    int n = 0, turns = 0;
    // `continue` inside of a switch belongs to the loop.
    for (int k = 0; k < 10; k++) {
        switch (k & 3) {
        case 0: continue;
        case 3: break;
        default: if (k > 5) goto out;
        }
        turns++;
    }
out:
    out[5] = turns;
    do { n += i--; } while (i > -5 && n < 55 || n < 21);
    int s = 0;
    for (int a = 1; a <= 10; a++) { if (a == 11) break; s += a; }
    out[6] = s;
    out[7] = (s = 3, s + 4);
    out[8] = s > 2 ? s > 5 ? 1 : 12 : 13;
    while (1) { if (s++ == 9) break; }
    out[9] = s - 1;
}
