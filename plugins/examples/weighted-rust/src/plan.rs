use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Gives each item to an instance. owners has, by item, the instance that owns it now,
/// which keeps it if its share allows. There is at least one weight.
pub(crate) fn plan(weights: &[u64], owners: &[Option<usize>]) -> Vec<usize> {
    let mut free = shares(weights, owners);
    let mut kept: Vec<Option<usize>> = owners.to_vec();
    for place in &mut kept {
        *place = place.filter(|&owner| take(&mut free, owner));
    }
    // Any other item goes to the first instance with room.
    let mut next = 0;
    let placed = kept.into_iter().map(|owner| match owner {
        Some(owner) => owner,
        None => {
            while !take(&mut free, next) {
                next += 1;
            }
            next
        }
    });
    placed.collect()
}

/// Takes room for one item on an instance, if it has any.
fn take(free: &mut [usize], instance: usize) -> bool {
    let room = free[instance] > 0;
    if room {
        free[instance] -= 1;
    }
    room
}

/// How many items each instance gets. It counts in whole numbers only, so every server
/// gets the same result.
fn shares(weights: &[u64], owners: &[Option<usize>]) -> Vec<usize> {
    let nobody = weights.iter().all(|&w| w == 0);
    let weight = |i: usize| if nobody { 1 } else { weights[i] };
    let all = 0..weights.len();
    let sum: u64 = all.clone().map(weight).sum();
    let parts = |i: usize| owners.len() as u64 * weight(i);

    let mut shares: Vec<usize> = all.clone().map(|i| (parts(i) / sum) as usize).collect();
    let mut owned = vec![0; weights.len()];
    for &owner in owners.iter().flatten() {
        owned[owner] += 1;
    }
    // Rounding up comes first for an instance that owns more than its rounded-down
    // share, then for one that loses most by rounding down, then by index.
    let up = all.filter(|&i| parts(i) % sum > 0);
    let mut up: BinaryHeap<_> = up
        .map(|i| (owned[i] > shares[i], parts(i) % sum, Reverse(i)))
        .collect();
    for _ in shares.iter().sum()..owners.len() {
        if let Some((_, _, Reverse(i))) = up.pop() {
            shares[i] += 1;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(from: &[Option<usize>], to: &[usize]) -> usize {
        let moved = |(from, to): &(&Option<usize>, &usize)| **from != Some(**to);
        from.iter().zip(to).filter(moved).count()
    }

    fn counts(n: usize, dealt: &[usize]) -> Vec<usize> {
        let mut counts = vec![0; n];
        for &to in dealt {
            counts[to] += 1;
        }
        counts
    }

    #[test]
    fn proportions() {
        for (weights, total, want) in [
            (&[1, 1, 1][..], 7, &[3, 2, 2][..]),
            (&[2, 1], 9, &[6, 3]),
            (&[1, 2], 4, &[1, 3]),
            (&[0, 5, 0], 3, &[0, 3, 0]),
            (&[0, 0], 3, &[2, 1]),
            (&[1_000_000_000, 1], 10, &[10, 0]),
            (&[7], 0, &[0]),
            (&[1, 1, 1], 2, &[1, 1, 0]),
        ] {
            let dealt = plan(weights, &vec![None; total]);
            assert_eq!(counts(weights.len(), &dealt), want, "{weights:?} {total}");
        }
    }

    #[test]
    fn nothing_moves_without_a_reason() {
        let first = plan(&[3, 2, 2], &[None; 10]);
        let owners: Vec<_> = first.iter().copied().map(Some).collect();
        assert_eq!(plan(&[3, 2, 2], &owners), first);
        // An instance that comes takes its share, and no other item moves.
        let more = plan(&[3, 2, 2, 3], &owners);
        assert_eq!(moves(&owners, &more), counts(4, &more)[3]);
    }

    #[test]
    fn rounding_up_goes_to_whom_it_spares_a_move() {
        // 4 items on 3 equals: the last owns two, and keeps them.
        let owners = [Some(2), Some(2), Some(0), Some(1)];
        assert_eq!(plan(&[1, 1, 1], &owners), [2, 2, 0, 1]);
    }

    /// All ways to give so many items to so many instances.
    fn every(items: usize, instances: usize) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for _ in 0..items {
            all = all
                .iter()
                .flat_map(|d| (0..instances).map(move |i| [&d[..], &[i]].concat()))
                .collect();
        }
        all
    }

    #[test]
    fn no_fair_deal_moves_less() {
        const ITEMS: usize = 5;
        for weights in [[1, 1, 1], [3, 2, 1], [1, 0, 4], [5, 5, 1], [0, 0, 0]] {
            let real = if weights == [0; 3] { [1; 3] } else { weights };
            let sum: u64 = real.iter().sum();
            let fair = |dealt: &Vec<usize>| {
                (counts(3, dealt).iter().zip(real)).all(|(&n, w)| {
                    let parts = ITEMS as u64 * w;
                    (parts / sum..=parts.div_ceil(sum)).contains(&(n as u64))
                })
            };
            let all: Vec<_> = every(ITEMS, 3).into_iter().filter(fair).collect();
            // Owner 3 stands for none.
            for owners in every(ITEMS, 4) {
                let owners: Vec<_> = owners.iter().map(|&o| Some(o).filter(|&o| o < 3)).collect();
                let dealt = plan(&weights, &owners);
                assert!(fair(&dealt), "{weights:?} {owners:?} {dealt:?}");
                let fewest = all.iter().map(|d| moves(&owners, d)).min();
                let case = format!("{weights:?} {owners:?} {dealt:?}");
                assert_eq!(Some(moves(&owners, &dealt)), fewest, "{case}");
            }
        }
    }
}
