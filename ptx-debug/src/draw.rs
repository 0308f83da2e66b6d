//! Pictures: lanes of a warp, its splits, where they meet, code beside its source.

use ptx_interp::{Split, Waits};

use crate::answer::{Answer, Line};
use crate::code::{At, CodeMap};
use crate::error::Error;
use crate::execute::triple;
use crate::front::Rest;

/// A character for each lane.
pub(crate) fn lanes(each: impl Fn(u32) -> char) -> String {
    (0..32).map(each).collect()
}

fn waits(w: Waits) -> String {
    match w {
        Waits::Nothing => "runs".into(),
        Waits::Barrier(n) => format!("waits at barrier {n}"),
        Waits::ClusterBarrier => "waits at the cluster barrier".into(),
        Waits::Lanes(lanes) => format!("waits for lanes {lanes:#010x}"),
        Waits::Warpgroup => "waits for the other warps of the warpgroup".into(),
        Waits::Reconvergence => "waits to reconverge".into(),
    }
}

impl CodeMap {
    /// An instruction's place: `k.ptx:17 (k.cu:5)`.
    pub fn describe(&self, at: At) -> String {
        let module: &str = &self.kernel.program().module;
        let source = match self.source_line(at) {
            Some((file, line)) => format!(" ({}:{line})", self.file_name(file)),
            None => String::new(),
        };
        format!("{module}:{}{source}", self.ptx_line(at))
    }

    /// The place with its function and text.
    pub fn describe_in_full(&self, at: At) -> String {
        format!("{} in {}: {}", self.describe(at), self.function_at(at), self.text(at))
    }
}

impl Rest<'_> {
    fn splits(&self) -> Result<(Vec<Split>, u32, u32), Error> {
        let moment = self.moment.ok_or(Error::NotRunning)?;
        let focus = self.session.focus;
        let splits = moment.splits(focus.block, focus.warp).ok_or(Error::NotRunning)?;
        let live = splits.iter().fold(0, |m, s| m | s.lanes);
        let threads: u32 = self.session.params.block.iter().product();
        let left = threads.saturating_sub(32 * focus.warp);
        let all = if left >= 32 { u32::MAX } else { (1 << left) - 1 };
        Ok((splits, live, all))
    }

    /// The lanes of the warp in focus.
    pub(crate) fn mask(&self) -> Result<Answer, Error> {
        let (_, live, all) = self.splits()?;
        let lane = self.lane()?;
        let executing = lane.lanes;
        let picture = lanes(|l| match l {
            l if all >> l & 1 == 0 => ' ',
            l if executing >> l & 1 != 0 => '#',
            l if live >> l & 1 != 0 => '.',
            _ => 'x',
        });
        let focus = self.session.focus;
        let lines = vec![
            format!("block {} warp {}", triple(focus.block), focus.warp),
            "  0       8       16      24".into(),
            format!("  {picture}"),
            format!(
                "  {}",
                lanes(|l| if l == u32::from(focus.lane) { '^' } else { ' ' }).trim_end()
            ),
            format!(
                "  # together with lane {}: {executing:#010x}   . elsewhere: {:#010x}   x ended: {:#010x}",
                focus.lane,
                live & !executing,
                all & !live
            ),
        ];
        Ok(Answer::Drawing { lines })
    }

    /// The splits of the warp in focus, and where each meets others.
    pub(crate) fn stack(&self) -> Result<Answer, Error> {
        let (splits, ..) = self.splits()?;
        let focus = self.session.focus;
        let code = &self.session.code;
        let mut lines = vec![format!("block {} warp {}", triple(focus.block), focus.warp)];
        for s in &splits {
            let mark = if s.lanes >> focus.lane & 1 != 0 { '>' } else { ' ' };
            let picture = lanes(|l| if s.lanes >> l & 1 != 0 { '#' } else { '.' });
            lines.push(format!("{mark} {picture}  {}", waits(s.waits)));
            lines.push(format!("      at {}", code.describe_in_full(s.at)));
            for j in &s.stack {
                let there = lanes(|l| match (j.members >> l & 1 != 0, j.arrived >> l & 1 != 0) {
                    (true, true) => '#',
                    (true, false) => 'o',
                    (false, _) => '.',
                });
                let labels: Vec<&str> = code.labels_at(j.at).collect();
                let label = if labels.is_empty() {
                    String::new()
                } else {
                    format!(" {}", labels.join(" "))
                };
                lines.push(format!("  {there}  meet at {}{label}", code.describe(j.at)));
            }
        }
        lines.push("  # there   o on the way".into());
        Ok(Answer::Drawing { lines })
    }

    /// Where every warp of the cluster stands.
    pub(crate) fn warps(&self) -> Result<Answer, Error> {
        let moment = self.moment.ok_or(Error::NotRunning)?;
        let focus = self.session.focus;
        let mut rows = Vec::new();
        for block in moment.cluster_blocks() {
            for warp in 0..moment.warp_count() {
                let splits = moment.splits(block, warp).unwrap_or_default();
                if splits.is_empty() {
                    let mut row = vec![String::new(), triple(block), warp.to_string()];
                    row.extend(["".into(), "has ended".into(), "".into(), "".into()]);
                    rows.push(row);
                }
                for s in splits {
                    let here = (block, warp) == (focus.block, focus.warp);
                    let here = here && s.lanes >> focus.lane & 1 != 0;
                    rows.push(vec![
                        if here { ">" } else { "" }.into(),
                        triple(block),
                        warp.to_string(),
                        format!("{:#010x}", s.lanes),
                        waits(s.waits),
                        self.session.code.describe(s.at),
                        self.session.code.text(s.at),
                    ]);
                }
            }
        }
        Ok(Answer::table(&["", "block", "warp", "lanes", "state", "place", "next"], rows))
    }

    /// Calls that led here.
    pub(crate) fn backtrace(&self) -> Result<Answer, Error> {
        let lane = self.lane()?;
        let mut rows = Vec::new();
        for up in 0..=lane.depth() {
            let Some(at) = lane.pc_of(up).and_then(|pc| self.session.code.kernel.origin(pc)) else {
                continue;
            };
            rows.push(vec![
                if up == self.session.up { ">" } else { "" }.into(),
                up.to_string(),
                self.session.code.function_at(at),
                self.session.code.describe(at),
                self.session.code.text(at),
            ]);
        }
        Ok(Answer::table(&["", "frame", "function", "place", "instruction"], rows))
    }

    fn breaks(&self, line: impl Fn(At) -> bool) -> bool {
        let mut all = self.session.breakpoints.iter().filter(|b| b.enabled);
        all.any(|b| b.at.iter().any(|(at, _)| line(*at)))
    }

    /// The place that a listing is about: a location, where the lane stands, or the kernel's start.
    fn listed(&self, location: Option<&str>) -> Result<(At, bool), Error> {
        match location {
            Some(text) => {
                let all = self.session.code.locate(text, self.function())?;
                let first = all.first().copied();
                Ok((first.ok_or_else(|| Error::NoCode(text.into()))?, false))
            }
            None => Ok(self.at().map_or(((0, 0), false), |at| (at, true))),
        }
    }

    /// Source around a place.
    pub(crate) fn list(&self, location: Option<&str>) -> Result<Answer, Error> {
        let (at, here) = self.listed(location)?;
        let code = &self.session.code;
        let source = code.source_line(at).filter(|s| code.source_text(*s).is_some());
        let line = source.map_or_else(|| code.ptx_line(at), |(_, line)| line);
        let mut lines = Vec::new();
        for n in line.saturating_sub(5).max(1)..=line + 5 {
            let text = match source {
                Some((file, _)) => code.source_text((file, n)),
                None => code.ptx_text(n),
            };
            let Some(text) = text else { continue };
            let stopped = self.breaks(|at| match source {
                Some((file, _)) => code.source_line(at) == Some((file, n)),
                None => code.ptx_line(at) == n,
            });
            let mark = match (here && n == line, stopped) {
                (true, _) => ">",
                (false, true) => "*",
                (false, false) => "",
            };
            lines.push(Line { number: n.to_string(), mark: mark.into(), text: text.into() });
        }
        Ok(Answer::Listing { lines })
    }

    /// PTX around a place, beside its source.
    pub(crate) fn disassemble(&self, location: Option<&str>) -> Result<Answer, Error> {
        let (at, here) = self.listed(location)?;
        let code = &self.session.code;
        let mut lines = Vec::new();
        let mut source = None;
        for i in at.1.saturating_sub(6)..(at.1 + 7).min(code.insts(at.0)) {
            let one = (at.0, i);
            let line = code.source_line(one);
            if line != source
                && let Some((file, n)) = line
            {
                let text = code.source_text((file, n)).unwrap_or("").trim();
                let text = format!("// {}:{n}  {text}", code.file_name(file));
                lines.push(Line { number: String::new(), mark: String::new(), text });
            }
            source = line;
            for label in code.labels_at(one) {
                let text = format!("{label}:");
                lines.push(Line { number: String::new(), mark: String::new(), text });
            }
            let mark = match (here && i == at.1, self.breaks(|b| b == one)) {
                (true, _) => ">",
                (false, true) => "*",
                (false, false) => "",
            };
            let text = format!("    {}", code.text(one));
            lines.push(Line { number: i.to_string(), mark: mark.into(), text });
        }
        Ok(Answer::Listing { lines })
    }
}
