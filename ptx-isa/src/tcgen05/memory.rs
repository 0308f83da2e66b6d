//! The Tensor Memory of one block.

/// Lanes: rows of the memory.
pub const LANES: u32 = 128;
/// Columns of 32-bit cells.
pub const COLUMNS: u32 = 512;
/// Columns are allocated in units of so many.
const UNIT: u32 = 32;

/// Tensor Memory of one block: 128 lanes of 512 columns of 32 bits, which are there once they are allocated.
#[derive(Clone, Debug)]
pub struct TensorMemory {
    cells: Box<[u32]>,
    /// Units of columns that are allocated, a bit each.
    units: u32,
    /// First column and number of columns of every allocation.
    allocations: Vec<(u32, u32)>,
    /// The block allocates no more.
    relinquished: bool,
    /// Allocations for a pair of blocks, ever.
    joint: u64,
    /// What such an allocation has got, while the other block has not followed.
    pending: Option<u32>,
}

impl Default for TensorMemory {
    fn default() -> Self {
        Self {
            cells: vec![0; (LANES * COLUMNS) as usize].into(),
            units: 0,
            allocations: Vec::new(),
            relinquished: false,
            joint: 0,
            pending: None,
        }
    }
}

/// Whether so many columns can be allocated at all.
fn countable(columns: u32) -> Result<(), String> {
    if columns.is_power_of_two() && (UNIT..=COLUMNS).contains(&columns) {
        Ok(())
    } else {
        Err(format!(
            "{columns} columns of Tensor Memory: the number is a power of two from 32 to 512"
        ))
    }
}

impl TensorMemory {
    /// Allocates `columns` columns; the result is the first one's address, or `None` while there are not enough.
    ///
    /// # Errors
    /// When the number is not allowed, or the block has given up its right to allocate.
    pub fn allocate(&mut self, columns: u32) -> Result<Option<u32>, String> {
        countable(columns)?;
        if self.relinquished {
            return Err("the block allocates Tensor Memory after it gave up the right to".into());
        }
        let units = columns / UNIT;
        let mask = (((1u64 << units) - 1) as u32, COLUMNS / UNIT);
        let free = (0..=mask.1 - units).find(|at| self.units & mask.0 << at == 0);
        Ok(free.map(|at| {
            self.units |= mask.0 << at;
            self.allocations.push((at * UNIT, columns));
            at * UNIT
        }))
    }

    /// As [`TensorMemory::allocate`] for a pair of blocks: `other` says how many such allocations the other block has
    /// made. `None` as well until that one has followed.
    ///
    /// # Errors
    /// As [`TensorMemory::allocate`].
    pub fn allocate_jointly(&mut self, columns: u32, other: u64) -> Result<Option<u32>, String> {
        if self.pending.is_none() {
            self.pending = self.allocate(columns)?;
            self.joint += u64::from(self.pending.is_some());
        }
        Ok(if other >= self.joint { self.pending.take() } else { None })
    }

    /// Allocations that it made together with another block.
    #[must_use]
    pub fn joint_allocations(&self) -> u64 {
        self.joint
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// When there is no such allocation.
    pub fn free(&mut self, address: u32, columns: u32) -> Result<(), String> {
        countable(columns)?;
        let Some(at) = self.allocations.iter().position(|a| *a == (address, columns)) else {
            return Err(format!(
                "no allocation of {columns} columns of Tensor Memory starts at {address:#x}"
            ));
        };
        self.allocations.swap_remove(at);
        let mask = ((1u64 << (columns / UNIT)) - 1) as u32;
        self.units &= !(mask << (address / UNIT));
        Ok(())
    }

    /// Gives up the right to allocate.
    pub fn relinquish(&mut self) {
        self.relinquished = true;
    }

    fn at(&self, lane: u32, column: u32) -> Result<usize, String> {
        if lane >= LANES || column >= COLUMNS {
            return Err(format!(
                "lane {lane}, column {column} is outside Tensor Memory ({LANES} lanes, {COLUMNS} columns)"
            ));
        }
        if self.units >> (column / UNIT) & 1 == 0 {
            return Err(format!("column {column} of Tensor Memory is not allocated"));
        }
        Ok((lane * COLUMNS + column) as usize)
    }

    /// The cell.
    ///
    /// # Errors
    /// When there is none, or its column is not allocated.
    pub fn get(&self, lane: u32, column: u32) -> Result<u32, String> {
        Ok(self.cells[self.at(lane, column)?])
    }

    /// Sets the cell.
    ///
    /// # Errors
    /// As [`TensorMemory::get`].
    pub fn set(&mut self, lane: u32, column: u32, value: u32) -> Result<(), String> {
        let at = self.at(lane, column)?;
        self.cells[at] = value;
        Ok(())
    }
}

/// Lane and column of an address in Tensor Memory. The two uppermost bits are no part of the lane: compilers keep the
/// byte of a scale factor there.
#[must_use]
pub fn split(address: u32) -> (u32, u32) {
    (address >> 16 & 0x3fff, address & 0xffff)
}
