//! Executes PTX kernels warp by warp.
