//! A warp and its accesses as options name them.

use std::str::FromStr;

use ptx_runtime::timing::WarpChoice;

/// A number, and another one behind a colon if there is one.
fn pair<T: FromStr>(text: &str) -> Option<(u64, Option<T>)> {
    match text.split_once(':') {
        Some((first, second)) => Some((first.parse().ok()?, Some(second.parse().ok()?))),
        None => Some((text.parse().ok()?, None)),
    }
}

/// `3` or `3:1`: a block in launch order, and a warp of it.
pub(crate) fn warp(text: &str) -> Result<WarpChoice, String> {
    let (block, warp) = pair(text)
        .ok_or("write BLOCK or BLOCK:WARP, such as 3:1; both count from 0 in launch order")?;
    Ok(WarpChoice { block, warp: warp.unwrap_or(0) })
}

/// `42` or `42:3`: a line of the PTX text, and which of its executions.
pub(crate) fn access(text: &str) -> Result<(u32, u64), String> {
    let wrong = "write LINE or LINE:N, such as 42:3; both count from 1";
    let (line, execution) = pair(text).ok_or(wrong)?;
    match (u32::try_from(line), execution.unwrap_or(1)) {
        (Ok(line @ 1..), execution @ 1..) => Ok((line, execution)),
        _ => Err(wrong.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_or_say_how_to_write_them() {
        assert_eq!(warp("3"), Ok(WarpChoice { block: 3, warp: 0 }));
        assert_eq!(warp("3:1"), Ok(WarpChoice { block: 3, warp: 1 }));
        assert_eq!((access("42"), access("42:7")), (Ok((42, 1)), Ok((42, 7))));
        for wrong in ["", "x", "1:", ":1", "1:2:3", "-1", "99999999999999999999"] {
            assert!(warp(wrong).is_err() && access(wrong).is_err(), "{wrong}");
        }
        assert!(access("0").is_err() && access("4:0").is_err() && access("4294967296").is_err());
    }
}
