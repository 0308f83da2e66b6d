//! Programs of burn on the CUDA device, each beside the same on burn's own processor back end.

use burn::backend::{Autodiff, Cuda, NdArray};
use burn::nn::loss::{MseLoss, Reduction};
use burn::nn::{LayerNormConfig, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::prelude::*;
use burn::tensor::activation::{gelu, relu, softmax};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::module::{conv2d, max_pool2d};
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Distribution, TensorData};

/// Numbers that every back end gets alike.
fn numbers<const D: usize, B: Backend>(shape: [usize; D], seed: u32, device: &B::Device) -> Tensor<B, D> {
    let mut state = seed;
    let values: Vec<f32> = (0..shape.iter().product::<usize>())
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        })
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn flat<const D: usize, B: Backend>(t: Tensor<B, D>) -> Vec<f32> {
    t.into_data().convert::<f32>().to_vec().unwrap()
}

fn elementwise<B: Backend>(d: &B::Device) -> Vec<f32> {
    let (a, b) = (numbers::<2, B>([33, 65], 1, d), numbers::<2, B>([33, 65], 2, d));
    flat((a.clone().exp() * b.clone().tanh() - a.abs().sqrt()).powf_scalar(2.0) + relu(b))
}
fn product<B: Backend>(d: &B::Device) -> Vec<f32> {
    flat(numbers::<2, B>([96, 128], 3, d).matmul(numbers::<2, B>([128, 80], 4, d)))
}
fn batched<B: Backend>(d: &B::Device) -> Vec<f32> {
    flat(numbers::<3, B>([4, 33, 40], 5, d).matmul(numbers::<3, B>([4, 40, 29], 6, d)))
}
fn reductions<B: Backend>(d: &B::Device) -> Vec<f32> {
    let a = numbers::<3, B>([7, 50, 31], 7, d);
    let mut out = flat(a.clone().sum_dim(1));
    out.extend(flat(a.clone().mean_dim(2)));
    out.extend(flat(a.clone().max_dim(0)));
    out.extend(flat(a.argmax(1).float()));
    out
}
fn attention<B: Backend>(d: &B::Device) -> Vec<f32> {
    let [q, k, v] = [8, 9, 10].map(|s| numbers::<3, B>([4, 24, 16], s, d));
    flat(softmax(q.matmul(k.transpose()) / 4.0, 2).matmul(v))
}
fn convolution<B: Backend>(d: &B::Device) -> Vec<f32> {
    let (x, w) = (numbers::<4, B>([2, 3, 16, 16], 11, d), numbers::<4, B>([8, 3, 3, 3], 12, d));
    let y = conv2d(x, w, None, ConvOptions::new([1, 1], [1, 1], [1, 1], 1));
    flat(max_pool2d(y, [2, 2], [2, 2], [0, 0], [1, 1], false))
}
fn norm<B: Backend>(d: &B::Device) -> Vec<f32> {
    flat(LayerNormConfig::new(48).init::<B>(d).forward(numbers::<3, B>([4, 9, 48], 13, d)))
}
fn indices<B: Backend>(d: &B::Device) -> Vec<f32> {
    let a = numbers::<2, B>([20, 9], 14, d);
    let i = Tensor::<B, 1, Int>::from_data([3, 3, 19, 0, 7], d);
    let mut out = flat(a.clone().select(0, i));
    out.extend(flat(a.clone().slice([2..9, 1..5])));
    out.extend(flat(a.clone().swap_dims(0, 1).reshape([12, 15])));
    let low = numbers::<2, B>([20, 9], 15, d).lower_elem(0.0);
    out.extend(flat(Tensor::cat(vec![a.clone(), a.mask_fill(low, 9.0)], 1)));
    out
}
fn sorted<B: Backend>(d: &B::Device) -> Vec<f32> {
    flat(numbers::<2, B>([10, 40], 16, d).sort(1))
}
fn random<B: Backend>(d: &B::Device) -> Vec<f32> {
    let u = Tensor::<B, 1>::random([50_000], Distribution::Uniform(0.0, 1.0), d);
    let n = Tensor::<B, 1>::random([50_000], Distribution::Normal(0.0, 1.0), d);
    let round = |v: f32| (v * 20.0).round();
    flat(Tensor::cat(vec![u.clone().mean(), u.var(0), n.clone().mean(), n.var(0)], 0)).into_iter().map(round).collect()
}
/// Forward, backward and steps of Adam.
fn training<B: AutodiffBackend>(d: &B::Device) -> Vec<f32> {
    #[derive(Module, Debug)]
    struct Network<B: Backend> {
        first: burn::nn::Linear<B>,
        second: burn::nn::Linear<B>,
    }
    let linear = |inputs, outputs| {
        let same = burn::nn::Initializer::Constant { value: 0.05 };
        LinearConfig::new(inputs, outputs).with_initializer(same).init::<B>(d)
    };
    let mut network = Network { first: linear(12, 32), second: linear(32, 3) };
    let mut adam = AdamConfig::new().init();
    let (x, y) = (numbers::<2, B>([40, 12], 17, d), numbers::<2, B>([40, 3], 18, d));
    let mut losses = Vec::new();
    for _ in 0..5 {
        let guess = network.second.forward(gelu(network.first.forward(x.clone())));
        let loss = MseLoss::new().forward(guess, y.clone(), Reduction::Mean);
        losses.extend(flat(loss.clone()));
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = adam.step(0.05, network, gradients);
    }
    losses.extend(flat(network.first.weight.val()));
    losses
}

type Program<D> = fn(&D) -> Vec<f32>;

fn main() {
    type C = Cuda<f32, i32>;
    type N = NdArray<f32>;
    let (cuda, host) = (Default::default(), Default::default());
    let programs: [(&str, Program<<C as Backend>::Device>, Program<<N as Backend>::Device>); 11] = [
        ("elementwise", elementwise::<C>, elementwise::<N>),
        ("product", product::<C>, product::<N>),
        ("batched", batched::<C>, batched::<N>),
        ("reductions", reductions::<C>, reductions::<N>),
        ("attention", attention::<C>, attention::<N>),
        ("convolution", convolution::<C>, convolution::<N>),
        ("norm", norm::<C>, norm::<N>),
        ("indices", indices::<C>, indices::<N>),
        ("sorted", sorted::<C>, sorted::<N>),
        ("random", random::<C>, random::<N>),
        ("training", training::<Autodiff<C>>, training::<Autodiff<N>>),
    ];
    let mut right = 0;
    for (name, on_device, on_host) in &programs {
        let (a, b) = (on_device(&cuda), on_host(&host));
        let far = a.iter().zip(&b).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f32::max);
        // Products on the device are those of tensor cores: tf32, which training makes more of.
        let ok = a.len() == b.len() && far < if *name == "training" { 1e-2 } else { 2e-3 };
        right += usize::from(ok);
        println!("{name:12} {} ({} numbers, {far:e} off)", if ok { "right" } else { "WRONG" }, a.len());
    }
    println!("burn 0.20.1: {right} of {} right", programs.len());
    std::process::exit(i32::from(right != programs.len()));
}
