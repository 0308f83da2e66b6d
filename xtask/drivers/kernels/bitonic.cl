kernel void bitonic(global uint *data, uint j, uint k)
{
    uint i = get_global_id(0), other = i ^ j;
    if (other > i) {
        uint a = data[i], b = data[other];
        if (((i & k) == 0) == (a > b)) {
            data[i] = b;
            data[other] = a;
        }
    }
}
