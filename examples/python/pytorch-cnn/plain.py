"""Trains a small CNN on Fashion-MNIST: python plain.py"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

import data


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(16 * 7 * 7, 10))


class Net:
    def setup(self, device, train, validation):
        self.device = device
        self.train_set, self.validation_set = data.load(train, validation)

    def build(self):
        self.model = cnn().to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05,
                                         momentum=0.9)

    def train_step(self, epoch):
        self.model.train()
        for x, y in DataLoader(self.train_set, batch_size=64, shuffle=True):
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


if __name__ == "__main__":
    torch.manual_seed(1)
    net = Net()
    net.setup("cuda" if torch.cuda.is_available() else "cpu", 6000, 2000)
    net.build()
    schedule = torch.optim.lr_scheduler.MultiStepLR(net.optimizer, [4], 0.1)
    for epoch in range(6):
        net.train_step(epoch)
        schedule.step()
        print(epoch + 1, net.evaluate())
