# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow southbound driver: the GRASP paper's system, where the controller decides for each job."""
