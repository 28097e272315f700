//! Prices of devices, given with a run instead of in its lab.

use crate::error::SessionError;
use crate::options::Price;
use seekwell_model::lab::Lab;
use seekwell_model::stack::Backing;

#[cfg(test)]
mod tests;

/// Sets the prices of a lab's devices, all variants of a device alike.
pub(crate) fn set(lab: &mut Lab, prices: &[Price]) -> Result<(), SessionError> {
    for (nth, price) in prices.iter().enumerate() {
        if prices.iter().take(nth).any(|earlier| earlier.device == price.device) {
            return Err(SessionError::Unusable(format!(
                "--price {price}: '{}' has a price already; give each device one",
                price.device
            )));
        }
        let mut is_there = false;
        for device in &mut lab.devices {
            let of_model =
                matches!(&device.backing, Backing::Model { model, .. } if *model == price.device);
            if device.base == price.device || of_model {
                device.price = Some(price.price);
                is_there = true;
            }
        }
        if !is_there {
            let mut names: Vec<&str> =
                lab.devices.iter().map(|device| device.base.as_str()).collect();
            names.dedup();
            return Err(SessionError::Unusable(format!(
                "--price {price}: the lab has no device '{}'; its devices are {}",
                price.device,
                names.join(", ")
            )));
        }
    }
    Ok(())
}
