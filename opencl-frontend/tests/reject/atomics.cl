// options: -cl-std=CL3.0 --target sm_90
// Atomic objects are not plain ones.
global atomic_int given = ATOMIC_VAR_INIT(3);
kernel void k(global atomic_int *a, global int *plain, global atomic_uint *other)
{
    atomic_int own = 3;
    *a = 3;
    (*a)++;
    *a += 2;
    atomic_fetch_add(plain, 1);
    atomic_add(a, 1);
    atomic_store(other, 1);
    int read = *a + given;
}
