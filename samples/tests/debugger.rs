//! Samples under the debugger, with steps forward and back on the way: buffers and output are the bytes of a run
//! without, of OpenCL C also of one without `-g`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use ptx_debug::command::Motion;
use ptx_debug::session::{Reason, Resume};
use ptx_debug::{Front, Rest};
use ptx_runtime::opencl::Options;
use ptx_runtime::{Backend, Context, Module};
use ptxrun::cc;
use ptxrun::debug::Debugger;
use ptxrun::launch_file;
use ptxrun::plan::PlannedLaunch;
use ptxrun::run::{RunOptions, execute, execute_by};

/// Steps through a launch: forward, back, to its middle, to its end.
#[derive(Default)]
struct Walker {
    rests: u32,
}

impl Front for Walker {
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume {
        let forward = |motion, count| Resume::Forward { motion, count, until: None };
        self.rests += 1;
        match (&rest.stop.reason, self.rests) {
            (Reason::Fault(report), _) => panic!("{report}"),
            (Reason::Ready, _) => {
                self.rests = 0;
                Resume::Restart { stop: true }
            }
            (Reason::Ended, 0..12) => Resume::Goto(rest.stop.time / 2),
            (Reason::Ended, _) => forward(Motion::Free, 1),
            (_, 1) => forward(Motion::Instruction { over: false }, 20),
            (_, 2) => Resume::Backward { motion: Motion::Instruction { over: false }, count: 3 },
            (_, 3) => forward(Motion::Line { over: true }, 2),
            (_, 4) => forward(Motion::Warp, 5),
            (_, 5) => Resume::Backward { motion: Motion::Line { over: false }, count: 1 },
            (_, 6) => Resume::GotoEnd,
            (_, 7..12) => Resume::Backward { motion: Motion::Warp, count: 1 },
            _ => forward(Motion::Free, 1),
        }
    }
}

#[test]
fn results_are_those_of_a_run_without() {
    let mut modules = 0;
    for path in samples::launch_files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = launch_file::parse(&text, path.parent().unwrap()).unwrap();
        for module in &file.modules {
            let text = std::fs::read_to_string(module).unwrap();
            let name = module.display().to_string();
            let verified = cc::verify(module, &text, &name, &file.build).unwrap().verified;
            let options =
                RunOptions { threads: Some(1), backend: Backend::Interp, ..RunOptions::default() };
            let printed = || Arc::new(Mutex::new(Vec::new()));
            let plain = execute(&file.plan, &verified, &options, &printed()).unwrap();
            let mut walker = Walker::default();
            let (folders, pause) = (Vec::new(), Arc::new(AtomicBool::new(false)));
            let mut debugger = Debugger { front: &mut walker, folders, previous: None, pause };
            let mut launcher =
                |context: &Context, module: &Module, launch: &PlannedLaunch, config| {
                    debugger.launch(context, module, launch, config)
                };
            // OpenCL C as `ptxrun debug` compiles it: with variables in memory.
            let build = Options { debug: true, ..file.build.clone() };
            let verified = cc::verify(module, &text, &name, &build).unwrap().verified;
            let told = execute(&file.plan, &verified, &options, &printed()).unwrap();
            assert!(plain.buffers == told.buffers, "{name}: buffers differ with -g");
            let under = execute_by(&file.plan, &verified, &options, &printed(), &mut launcher);
            let under = under.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(plain.buffers == under.buffers, "{name}: buffers differ");
            assert_eq!(plain.stdout, under.stdout, "{name}");
            for (a, b) in told.launches.iter().zip(&under.launches) {
                assert_eq!(a.stats.warp_instructions, b.stats.warp_instructions, "{name}");
            }
            modules += 1;
        }
    }
    assert!(modules >= 59, "{modules} modules");
}
