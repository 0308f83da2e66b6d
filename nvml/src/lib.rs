//! `libnvidia-ml.so.1` without NVIDIA's: NVML's questions, answered for the device that [`cuda_driver`] emulates.
//!
//! PyTorch, Triton, schedulers and monitors ask it how many devices there are, what they are called, how much memory
//! they have and who uses it. No answer initialises CUDA, so that a program may ask first and fork afterwards. What only
//! hardware can measure (temperature, power, utilisation, error counters, links) is `NVML_ERROR_NOT_SUPPORTED`, as on
//! boards without the sensor, and so is all else: every function is exported, as programs end on a name that is
//! missing.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`api`] | the exported functions |
//! | [`device`] | what is known of the device |
//! | [`status`] | what the functions return |

pub mod api;
pub mod device;
pub mod status;
