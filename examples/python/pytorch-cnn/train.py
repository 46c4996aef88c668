"""Trains a small CNN on Fashion-MNIST, as a workload of Hippo."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

import data
import hippo_hpo as hippo


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(16 * 7 * 7, 10))


class Net(hippo.torch.Workload):
    def setup(self, seed, device, args):
        super().setup(seed, device, args)
        self.train_set, self.validation_set = data.load(
            args["train"], args["validation"],
            args.get("folder", data.FOLDER))

    def build(self):
        self.model = cnn().to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05,
                                         momentum=0.9)

    def train_step(self, epoch, hp):
        hippo.torch.apply(self.optimizer, hp, epoch)
        hippo.torch.set_dropout(self.model, hp.dropout(epoch))
        self.model.train()
        for x, y in hippo.torch.data_loader(self.train_set, self.seed, epoch,
                                            hp.batch_size(epoch)):
            loss = F.cross_entropy(self.model(x.to(self.device)),
                                   y.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def evaluate(self):
        self.model.eval()
        right = 0
        with torch.no_grad():
            for x, y in DataLoader(self.validation_set, batch_size=500):
                guess = self.model(x.to(self.device)).argmax(1)
                right += (guess == y.to(self.device)).sum().item()
        return {"val_accuracy": right / len(self.validation_set)}
