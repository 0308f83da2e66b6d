// options: -arch=sm_70
__constant int primes[6] = {2, 3, 5, 7, 11, 13};
typedef struct { int key; union { float f; uint u; } as; } Item;
int weight(Item it) { return it.key * 2 + (int)(it.as.u >> 31); }
__kernel void walk(__global int *o, __global const Item *items, int n)
{
    int i = get_global_id(0), r = 0;
    if (i >= n) return;
    switch (items[i].key & 7) {
    case 0: r = 1; break;
    case 1: r = 2; /* falls through */
    case 2: r += weight(items[i]); break;
    case 5: goto done;
    default: for (int k = 0; k < 6; ++k) { if (primes[k] > i) continue; r += i % primes[k]; }
    }
    do { r = r & 1 ? r * 3 + 1 : r / 2; } while (r > 100 && r != 0);
done:
    o[i] = r;
}
