# SPDX-License-Identifier: Apache-2.0
"""Caffe's files through protobuf: the text of a network or a solver, the bytes of a .caffemodel.

MESSAGES holds the messages of Caffe's caffe.proto that are understood here, with the numbers that they have there.
Fields that stand nowhere are refused in a text and passed over in a .caffemodel, of which names and words are read.
"""

from functools import cache
from pathlib import Path
from typing import Any

from gradcore.files import toml_text
from gradcore.files.atomic import FileError, StrPath

# Message: "field number type", with * behind the type of a repeated field.
MESSAGES = {
    "BlobShape": "dim 1 int64*",
    "BlobProto": "num 1 int32, channels 2 int32, height 3 int32, width 4 int32, data 5 float*, shape 7 BlobShape",
    "FillerParameter": "type 1 string, value 2 float, min 3 float, max 4 float, mean 5 float, std 6 float, "
    "sparse 7 int32, variance_norm 8 VarianceNorm",
    "NetStateRule": "phase 1 Phase, min_level 2 int32, max_level 3 int32, stage 4 string*, not_stage 5 string*",
    "ParamSpec": "name 1 string, share_mode 2 int32, lr_mult 3 float, decay_mult 4 float",
    "TransformationParameter": "scale 1 float, mirror 2 bool, crop_size 3 uint32, mean_file 4 string, "
    "mean_value 5 float*, force_color 6 bool, force_gray 7 bool",
    "LossParameter": "ignore_label 1 int32, normalize 2 bool, normalization 3 Normalization",
    "AccuracyParameter": "top_k 1 uint32, axis 2 int32, ignore_label 3 int32",
    "ConvolutionParameter": "num_output 1 uint32, bias_term 2 bool, pad 3 uint32*, kernel_size 4 uint32*, "
    "group 5 uint32, stride 6 uint32*, weight_filler 7 FillerParameter, bias_filler 8 FillerParameter, "
    "pad_h 9 uint32, pad_w 10 uint32, kernel_h 11 uint32, kernel_w 12 uint32, stride_h 13 uint32, stride_w 14 uint32, "
    "engine 15 Engine, axis 16 int32, dilation 18 uint32*",
    "DataParameter": "source 1 string, scale 2 float, mean_file 3 string, batch_size 4 uint32, crop_size 5 uint32, "
    "mirror 6 bool, rand_skip 7 uint32, backend 8 Database, force_encoded_color 9 bool, prefetch 10 uint32",
    "DropoutParameter": "dropout_ratio 1 float, scale_train 2 bool",
    "EltwiseParameter": "operation 1 Operation, coeff 2 float*, stable_prod_grad 3 bool",
    "HingeLossParameter": "norm 1 Norm",
    "HDF5DataParameter": "source 1 string, batch_size 2 uint32, shuffle 3 bool",
    "ImageDataParameter": "source 1 string, scale 2 float, mean_file 3 string, batch_size 4 uint32, "
    "crop_size 5 uint32, mirror 6 bool, rand_skip 7 uint32, shuffle 8 bool, new_height 9 uint32, new_width 10 uint32, "
    "is_color 11 bool, root_folder 12 string",
    "InnerProductParameter": "num_output 1 uint32, bias_term 2 bool, weight_filler 3 FillerParameter, "
    "bias_filler 4 FillerParameter, axis 5 int32, transpose 6 bool",
    "MemoryDataParameter": "batch_size 1 uint32, channels 2 uint32, height 3 uint32, width 4 uint32",
    "PoolingParameter": "pool 1 Pool, kernel_size 2 uint32, stride 3 uint32, pad 4 uint32, kernel_h 5 uint32, "
    "kernel_w 6 uint32, stride_h 7 uint32, stride_w 8 uint32, pad_h 9 uint32, pad_w 10 uint32, engine 11 Engine, "
    "global_pooling 12 bool, round_mode 13 Round",
    "ReLUParameter": "negative_slope 1 float, engine 2 Engine",
    "SigmoidParameter": "engine 1 Engine",
    "SoftmaxParameter": "engine 1 Engine, axis 2 int32",
    "TanHParameter": "engine 1 Engine",
    "FlattenParameter": "axis 1 int32, end_axis 2 int32",
    "InputParameter": "shape 1 BlobShape*",
    "LayerParameter": "name 1 string, type 2 string, bottom 3 string*, top 4 string*, loss_weight 5 float*, "
    "param 6 ParamSpec*, blobs 7 BlobProto*, include 8 NetStateRule*, exclude 9 NetStateRule*, phase 10 Phase, "
    "propagate_down 11 bool*, transform_param 100 TransformationParameter, loss_param 101 LossParameter, "
    "accuracy_param 102 AccuracyParameter, convolution_param 106 ConvolutionParameter, data_param 107 DataParameter, "
    "dropout_param 108 DropoutParameter, eltwise_param 110 EltwiseParameter, hdf5_data_param 112 HDF5DataParameter, "
    "hinge_loss_param 114 HingeLossParameter, image_data_param 115 ImageDataParameter, "
    "inner_product_param 117 InnerProductParameter, memory_data_param 119 MemoryDataParameter, "
    "pooling_param 121 PoolingParameter, relu_param 123 ReLUParameter, sigmoid_param 124 SigmoidParameter, "
    "softmax_param 125 SoftmaxParameter, tanh_param 127 TanHParameter, flatten_param 135 FlattenParameter, "
    "input_param 143 InputParameter",
    "NetParameter": "name 1 string, input 3 string*, input_dim 4 int32*, force_backward 5 bool, debug_info 7 bool, "
    "input_shape 8 BlobShape*, layer 100 LayerParameter*",
    "SolverParameter": "train_net 1 string, test_net 2 string*, test_iter 3 int32*, test_interval 4 int32, "
    "base_lr 5 float, display 6 int32, max_iter 7 int32, lr_policy 8 string, gamma 9 float, power 10 float, "
    "momentum 11 float, weight_decay 12 float, stepsize 13 int32, snapshot 14 int32, snapshot_prefix 15 string, "
    "snapshot_diff 16 bool, solver_mode 17 SolverMode, device_id 18 int32, test_compute_loss 19 bool, "
    "random_seed 20 int64, debug_info 23 bool, net 24 string, snapshot_after_train 28 bool, "
    "regularization_type 29 string, test_initialization 32 bool, average_loss 33 int32, stepvalue 34 int32*, "
    "clip_gradients 35 float, iter_size 36 int32, snapshot_format 37 int32, type 40 string",
}
# Values from 0 on. A message that has a field of one has its own: two of them may have a value of one name.
ENUMERATIONS = {
    "VarianceNorm": "FAN_IN FAN_OUT AVERAGE",
    "Phase": "TRAIN TEST",
    "Normalization": "FULL VALID BATCH_SIZE NONE",
    "Database": "LEVELDB LMDB",
    "Engine": "DEFAULT CAFFE CUDNN",
    "Operation": "PROD SUM MAX",
    "Norm": "UNKNOWN L1 L2",
    "Pool": "MAX AVE STOCHASTIC",
    "Round": "CEIL FLOOR",
    "SolverMode": "CPU GPU",
}


def text(path: StrPath, kind: str, known: bool = True) -> Any:
    """The message of a .prototxt file. `known`: refuse fields that are not in MESSAGES. Raises FileError,
    ModuleNotFoundError."""
    try:
        from google.protobuf import text_format
    except ImportError as error:
        raise ModuleNotFoundError(
            "protobuf is not installed: pip install 'gradcore[caffe]'", name="protobuf"
        ) from error

    try:
        words = toml_text.read(path)
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FileError(path, f"is no .prototxt of Caffe: {error}") from error
    try:
        return text_format.Parse(words, _message(kind)(), allow_unknown_field=not known)
    except text_format.ParseError as error:
        raise FileError(path, f"line {toml_text.printable(str(error))}") from error


def weights(path: StrPath) -> Any:
    """The NetParameter of a .caffemodel. Raises FileError."""
    from google.protobuf.message import DecodeError

    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from error
    try:
        found = _message("NetParameter").FromString(data)
    except DecodeError as error:
        raise FileError(path, f"is no .caffemodel: {error}") from error
    if not any(layer.blobs for layer in found.layer):
        raise FileError(path, "is no .caffemodel that is known: no layer has blobs")
    return found


def name_of(message: Any, field: str) -> str:
    """The name of an enumerated value."""
    values = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return str(values[getattr(message, field)].name)


@cache
def _message(kind: str) -> Any:
    """The class of a message."""
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(_pool().FindMessageTypeByName(f"caffe.{kind}"))


@cache
def _pool() -> Any:
    """MESSAGES as protobuf knows messages."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    file = FileDescriptorProto(name="caffe.proto", package="caffe", syntax="proto2")
    for kind, fields in MESSAGES.items():
        message = file.message_type.add(name=kind)
        for words in fields.split(", "):
            name, number, of = words.split()
            label = FieldDescriptorProto.LABEL_REPEATED if of[-1] == "*" else FieldDescriptorProto.LABEL_OPTIONAL
            field, of = message.field.add(name=name, number=int(number), label=label), of.rstrip("*")
            if of in MESSAGES:
                field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".caffe.{of}"
            elif of in ENUMERATIONS:
                field.type, field.type_name = FieldDescriptorProto.TYPE_ENUM, f".caffe.{kind}.{of}"
                enumeration = message.enum_type.add(name=of)
                for value, text in enumerate(ENUMERATIONS[of].split()):
                    enumeration.value.add(name=text, number=value)
            else:
                field.type = FieldDescriptorProto.Type.Value(f"TYPE_{of.upper()}")
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool
