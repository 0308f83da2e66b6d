kernel void launch(global uint *counts)
{
    counts[get_global_id(0)]++;
}
