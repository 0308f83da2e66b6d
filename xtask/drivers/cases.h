// The kernels that are timed through the drivers, and how each is launched; `CASE` says what a row becomes.
//
// CASE(name, file, class, small, medium, large, dimensions, global x, y, local x, y,
//      fixed, result, words, series, arguments…)
// `n` is one of the three sizes: with data of about half a megabyte, of about eight, and more than caches hold.
// Products of matrices and kernels that compute stay smaller, for the sake of those who wait. 0: not at this size.
// fixed: local memory or the block's size is part of the program. result: the argument with the results; words: they
// are whole numbers. The file's name is the kernel's.
CASE(vecadd, vecadd, memory, 32 * K, 512 * K, 16 * M, 1, n, 1, 256, 1, 0, 2, 0, ONE,
     {FLOATS, n}, {FLOATS, n}, {ZEROS, n}, {COUNT, n})
CASE(saxpy, saxpy, memory, 16 * K, 256 * K, 8 * M, 1, n, 1, 256, 1, 0, 1, 0, ONE,
     {FLOATS, 4 * n}, {FLOATS, 4 * n}, {FLOAT, 2})
CASE(triad, triad, memory, 8 * K, 128 * K, 4 * M, 1, n, 1, 128, 1, 0, 2, 0, ONE,
     {FLOATS, 4 * n}, {FLOATS, 4 * n}, {ZEROS, 4 * n}, {FLOAT, 1500})
CASE(daxpy, daxpy, memory, 32 * K, 512 * K, 8 * M, 1, n, 1, 256, 1, 0, 1, 0, ONE,
     {DOUBLES, n}, {DOUBLES, n}, {FLOAT, 500}, {COUNT, n})
CASE(grid_stride, grid_stride, memory, 64 * K, M, 16 * M, 1, n / 16, 1, 256, 1, 0, 1, 0, ONE,
     {FLOATS, n}, {ZEROS, n}, {COUNT, n})
CASE(structs, structs, memory, 16 * K, 256 * K, 4 * M, 1, n, 1, 256, 1, 0, 0, 0, ONE, {FLOATS, 8 * n}, {FLOAT, 1})
CASE(gather, gather, memory, 32 * K, 512 * K, 16 * M, 1, n, 1, 256, 1, 0, 2, 0, ONE,
     {FLOATS, n}, {WORDS, n}, {ZEROS, n}, {INT, n - 1})
CASE(gray, gray, memory, 64 * K, M, 16 * M, 1, n, 1, 256, 1, 0, 1, 1, ONE, {WORDS, n}, {ZEROS, n})
CASE(yuv, yuv, memory, 64 * K, M, 16 * M, 1, n, 1, 256, 1, 0, 1, 1, ONE, {WORDS, n}, {ZEROS, n})
CASE(stencil, stencil, rows, 256, K, 4 * K, 2, n, n, 16, 8, 0, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n}, {COUNT, n})
CASE(stencil_narrow, stencil, rows, 256, K, 4 * K, 2, n, n, 8, 8, 0, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n}, {COUNT, n})
CASE(convolution, convolution, rows, 256, K, 4 * K, 2, n, n, 16, 16, 0, 2, 0, ONE,
     {FLOATS, n * n}, {FLOATS, 9}, {ZEROS, n * n}, {INT, n}, {COUNT, n})
CASE(jacobi3d, jacobi3d, rows, 32, 96, 256, 2, n, n, 32, 4, 0, 1, 0, ONE,
     {FLOATS, n * n * n}, {ZEROS, n * n * n}, {INT, n})
CASE(median, median, rows, 256, K, 2 * K, 2, n, n, 16, 8, 0, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n}, {COUNT, n})
CASE(sobel, sobel, rows, 256, K, 4 * K, 2, n, n, 32, 8, 0, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n}, {COUNT, n})
CASE(life, life, rows, 512, 2 * K, 8 * K, 2, n, n, 16, 16, 0, 1, 1, ONE,
     {WORDS, n * n / 4}, {ZEROS, n * n / 4}, {INT, n})
CASE(floyd, floyd, rows, 256, K, 2 * K, 2, n, n, 16, 16, 0, 0, 1, ONE, {WORDS, n * n}, {INT, n}, {INT, 7})
CASE(wave, wave, rows, 128, 512, 2 * K, 2, n, n, 32, 8, 0, 2, 0, ONE,
     {DOUBLES, n * n}, {DOUBLES, n * n}, {DOUBLES, n * n}, {INT, n})
CASE(bilateral, bilateral, rows, 128, 512, 2 * K, 2, n, n, 16, 16, 0, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n}, {INT, n})
CASE(im2col, im2col, rows, 64 * K, M, 8 * M, 1, n, 1, 256, 1, 0, 1, 0, ONE,
     {FLOATS, n}, {ZEROS, n}, {INT, 100}, {INT, 70}, {INT, 3})
CASE(lattice, lattice, rows, 8 * K, 128 * K, 2 * M, 1, n, 1, 128, 1, 0, 1, 0, ONE,
     {FLOATS, 9 * n}, {ZEROS, 9 * n}, {INT, n})
CASE(norms, norms, rows, 2 * K, 32 * K, M, 1, n, 1, 128, 1, 0, 1, 0, ONE, {FLOATS, 32 * n}, {ZEROS, n}, {INT, 32})
CASE(tile_blur, tile_blur, tiles, 256, K, 4 * K, 2, n, n, 16, 16, 1, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n})
CASE(transpose, transpose, tiles, 256, K, 4 * K, 2, n, n, 16, 16, 1, 1, 0, ONE,
     {FLOATS, n * n}, {ZEROS, n * n}, {INT, n})
CASE(gemv, gemv, rows, 512, 8 * K, 128 * K, 1, n, 1, 128, 1, 0, 2, 0, ONE,
     {FLOATS, 256 * n}, {FLOATS, 256}, {ZEROS, n}, {INT, 256}, {INT, n})
CASE(matmul_naive, matmul_naive, tiles, 128, 512, K, 2, n, n, 16, 16, 0, 2, 0, ONE,
     {FLOATS, n * n}, {FLOATS, n * n}, {ZEROS, n * n}, {INT, n})
CASE(matmul_tiled, matmul_tiled, tiles, 128, 512, K, 2, n, n, 16, 16, 1, 2, 0, ONE,
     {FLOATS, n * n}, {FLOATS, n * n}, {ZEROS, n * n}, {INT, n})
CASE(matmul_4x4, matmul_4x4, tiles, 128, 512, K, 2, n / 4, n / 4, 16, 8, 0, 2, 0, ONE,
     {FLOATS, n * n}, {FLOATS, n * n}, {ZEROS, n * n}, {INT, n})
CASE(reduce, reduce, barriers, 128 * K, 2 * M, 32 * M, 1, n / 32, 1, 256, 1, 1, 1, 0, ONE,
     {FLOATS, n}, {ZEROS, n / (8 * K)}, {LOCAL, K}, {INT, n})
CASE(dot_product, dot_product, barriers, 64 * K, M, 16 * M, 1, n / 16, 1, 128, 1, 1, 2, 0, ONE,
     {FLOATS, n}, {FLOATS, n}, {ZEROS, n / K}, {LOCAL, 512}, {INT, n / 4})
CASE(scan, scan, barriers, 64 * K, M, 16 * M, 1, n, 1, 256, 1, 1, 1, 1, ONE, {WORDS, n}, {ZEROS, n}, {LOCAL, K})
CASE(softmax, softmax, barriers, 64 * K, M, 16 * M, 1, n, 1, 256, 1, 1, 1, 0, ONE, {FLOATS, n}, {ZEROS, n}, {LOCAL, K})
CASE(barrier_loop, barrier_loop, barriers, 64 * K, 512 * K, 4 * M, 1, n, 1, 64, 1, 1, 0, 0, ONE,
     {FLOATS, n}, {LOCAL, 256}, {INT, 64})
CASE(fft256, fft256, barriers, 8 * K, 128 * K, M, 1, n, 1, 64, 1, 1, 1, 0, ONE, {FLOATS, 8 * n}, {ZEROS, 8 * n})
CASE(bitonic, bitonic, series, 32 * K, M, 4 * M, 1, n, 1, 256, 1, 0, 0, 1, BITONIC, {WORDS, n}, {INT, 0}, {INT, 0})
CASE(spmv, spmv, divergent, 4 * K, 64 * K, M, 1, n, 1, 64, 1, 0, 4, 0, ONE,
     {ROWS, n}, {COLUMNS, n}, {FLOATS, 24 * n}, {FLOATS, n}, {ZEROS, n})
CASE(neighbours, neighbours, divergent, 4 * K, 64 * K, M, 1, n, 1, 64, 1, 0, 2, 0, ONE,
     {FLOATS, 4 * n}, {COLUMNS, n}, {ZEROS, 4 * n}, {INT, n})
CASE(hash_find, hash_find, divergent, 32 * K, 512 * K, 8 * M, 1, n, 1, 256, 1, 0, 2, 1, ONE,
     {WORDS, n}, {WORDS, n}, {ZEROS, n}, {INT, n - 1})
CASE(insertion, insertion, divergent, 4 * K, 64 * K, M, 1, n, 1, 64, 1, 0, 1, 1, ONE, {WORDS, 16 * n}, {ZEROS, 16 * n})
CASE(mandelbrot, mandelbrot, divergent, 256, K, 2 * K, 2, n, n, 16, 16, 0, 0, 1, ONE, {ZEROS, n * n}, {INT, n})
CASE(collatz, collatz, divergent, 64 * K, 512 * K, 4 * M, 1, n, 1, 256, 1, 0, 0, 1, ONE, {ZEROS, n})
CASE(binary_search, binary_search, divergent, 32 * K, 512 * K, 8 * M, 1, n, 1, 128, 1, 0, 2, 1, ONE,
     {ROWS, n}, {WORDS, n}, {ZEROS, n}, {INT, n})
CASE(cas_add, cas_add, atomics, 64 * K, M, 4 * M, 1, n, 1, 256, 1, 0, 1, 0, ONE, {FLOATS, n}, {ZEROS, K})
CASE(histogram, histogram, atomics, 128 * K, 2 * M, 16 * M, 1, n / 32, 1, 256, 1, 1, 1, 1, ONE,
     {WORDS, n}, {ZEROS, 256}, {INT, n})
CASE(nbody, nbody, arithmetic, K, 4 * K, 16 * K, 1, n, 1, 128, 1, 0, 1, 0, ONE,
     {FLOATS, 4 * n}, {ZEROS, 4 * n}, {INT, n})
CASE(kmeans, kmeans, arithmetic, 16 * K, 256 * K, 4 * M, 1, n, 1, 256, 1, 0, 2, 1, ONE,
     {FLOATS, 4 * n}, {FLOATS, 64}, {ZEROS, n}, {INT, 16})
CASE(black_scholes, black_scholes, arithmetic, 32 * K, 512 * K, 4 * M, 1, n, 1, 128, 1, 0, 3, 0, ONE,
     {FLOATS, n}, {FLOATS, n}, {FLOATS, n}, {ZEROS, n}, {ZEROS, n})
CASE(polynomial, polynomial, arithmetic, 64 * K, M, 4 * M, 1, n, 1, 64, 1, 0, 1, 0, ONE, {FLOATS, n}, {ZEROS, n})
CASE(xorshift, xorshift, arithmetic, 64 * K, 256 * K, 2 * M, 1, n, 1, 256, 1, 0, 0, 1, ONE, {WORDS, n})
CASE(philox, philox, arithmetic, 32 * K, 512 * K, 8 * M, 1, n, 1, 128, 1, 0, 0, 1, ONE, {ZEROS, 4 * n}, {INT, 12345})
CASE(fma_peak, fma_peak, arithmetic, 64 * K, 256 * K, M, 1, n, 1, 256, 1, 0, 0, 0, ONE, {FLOATS, n})
CASE(sha256, sha256, arithmetic, 8 * K, 64 * K, M, 1, n, 1, 64, 1, 0, 1, 1, ONE, {WORDS, 16 * n}, {ZEROS, 8 * n})
CASE(blake2s, blake2s, arithmetic, 8 * K, 64 * K, M, 1, n, 1, 64, 1, 0, 1, 1, ONE, {WORDS, 16 * n}, {ZEROS, 8 * n})
CASE(crc32, crc32, arithmetic, 8 * K, 128 * K, 2 * M, 1, n, 1, 64, 1, 0, 1, 1, ONE, {WORDS, 16 * n}, {ZEROS, n})
CASE(match_blocks, match_blocks, arithmetic, 32 * K, 512 * K, 4 * M, 1, n, 1, 128, 1, 0, 2, 1, ONE,
     {WORDS, n / 4 + 16}, {WORDS, n / 4 + 16}, {ZEROS, n}, {INT, n})
CASE(swarm, swarm, arithmetic, 16 * K, 256 * K, 4 * M, 1, n, 1, 256, 1, 0, 1, 0, ONE, {FLOATS, 4 * n}, {ZEROS, 4 * n})
CASE(align_rows, align_rows, arithmetic, 16 * K, 256 * K, 4 * M, 1, n, 1, 64, 1, 0, 2, 1, ONE,
     {WORDS, n}, {WORDS, n}, {ZEROS, n})
CASE(powers, powers, arithmetic, 16 * K, 128 * K, M, 1, n, 1, 64, 1, 0, 1, 1, ONE,
     {WORDS, n}, {ZEROS, n}, {INT, 1000000007})
CASE(image_scale, image_scale, images, 256, K, 2 * K, 2, n, n, 16, 16, 0, 1, 1, ONE, {IMAGE, n}, {CANVAS, n}, {STEP, n})
CASE(image_box, image_box, images, 256, K, 2 * K, 2, n, n, 16, 16, 0, 1, 1, ONE, {IMAGE, n}, {CANVAS, n})
CASE(nbody_relaxed, nbody, relaxed, K, 4 * K, 16 * K, 1, n, 1, 128, 1, 0, 1, 0, ONE,
     {FLOATS, 4 * n}, {ZEROS, 4 * n}, {INT, n})
CASE(black_scholes_relaxed, black_scholes, relaxed, 32 * K, 512 * K, 4 * M, 1, n, 1, 128, 1, 0, 3, 0, ONE,
     {FLOATS, n}, {FLOATS, n}, {FLOATS, n}, {ZEROS, n}, {ZEROS, n})
CASE(launch, launch, launches, 64, 0, 0, 1, n, 1, 64, 1, 0, 0, 1, MANY, {ZEROS, n})
