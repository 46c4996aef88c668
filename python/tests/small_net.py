"""A LightningModule that is small, and its data. Studies of tests get a copy of
this file."""

import torch

import hippo_hpo.lightning

lightning = hippo_hpo.lightning.lightning


class Net(lightning.LightningModule):
    synced = False

    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, width), torch.nn.BatchNorm1d(width),
            torch.nn.Dropout(0.3), torch.nn.Linear(width, 1))

    def training_step(self, batch, i):
        x, y = batch
        return (self.layers(x) - y).square().mean()

    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", (self.layers(x) - y).square().mean(),
                 sync_dist=self.synced)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0, momentum=0.9)


class Data(lightning.LightningDataModule):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def setup(self, stage):
        x = torch.linspace(-1, 1, 3 * self.count).reshape(self.count, 3)
        self.data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.data, 4, shuffle=True)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(self.data, 8)
